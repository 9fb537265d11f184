// The library that is compiled once: products, which generated walks also call, and what comes
// before and after walks. ../build.py builds it, ../library.py loads it.
//
// Plain C with the vector types of GCC and Clang, built once per type of numbers: SINGLE is 1 for
// float, 0 for double. VECTOR_BYTES and TILE_ROWS depend on the processor.

#include "common.h"
#include "products.h"
#include "adadelta.h"
#include "linear.h"
#include "windows.h"
#include "largest.h"
#include "convolution.h"

const struct library library_of_walks = {
    TEAMS,
    pack,           pack_transposed,   multiply_into,      multiply_transposed,
    linear_numbers, linear_forward_by, linear_backward_by,
};
