// What the library that is compiled once and generated code have in common.

#include <math.h>
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
#include "arena.h"
#include "library.h"
