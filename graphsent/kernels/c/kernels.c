// The compiled walks over the levels of a schedule, and what comes before and after them;
// ../build.py builds them, ../library.py loads them.
//
// Plain C with the vector types of GCC and Clang. Built once for each type of numbers: SINGLE is 1
// for float, 0 for double. VECTOR_BYTES and TILE_ROWS fit the processor.

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "team.h"
#include "vectors.h"
#include "functions.h"
#include "matrices.h"
#include "products.h"
#include "indices.h"
#include "adadelta.h"
#include "lstm.h"
#include "gru.h"
#include "peephole.h"
#include "mixture.h"
#include "squash.h"
#include "composition.h"
#include "room.h"
#include "library.h"
#include "affine.h"
#include "leaves.h"
#include "windows.h"
#include "largest.h"
#include "rows.h"
#include "walk.h"
#include "places.h"
#include "slots.h"
#include "slots_backward.h"

const struct library library_of_walks = {
    pack,         pack_transposed, multiply_into, multiply_transposed,
    begin_affine, pack_affine,     affine_rows,   affine_gradients,
};

// What Python has to agree on: the sizes of the structures that it has, too, and where their
// pointers begin.
void tell_layout(int64_t *layout) {
  layout[0] = sizeof(struct walk);
  layout[1] = offsetof(struct walk, level_ends);
  layout[2] = sizeof(struct leaves);
  layout[3] = offsetof(struct leaves, sums);
}
