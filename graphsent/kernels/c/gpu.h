// What generated functions of rows call on a GPU: a block of threads computes a row, and each of
// its threads some of the columns, of which vectors have one.

#if SINGLE
typedef float real;
#else
typedef double real;
#endif
typedef real vec;

#ifndef KERNEL
#define KERNEL extern "C" __global__ void
#endif

#define all(x) ((real)(x))
#define load(from, n) (*(from))
#define store(to, x, n) (*(to) = (x))
#define rounded(product) (product)  // compiled without fused operations
#define choose(which, yes, no) ((which) ? (yes) : (no))
#define exponential_of_any exp
#define exp_minus_1_of_any expm1
#define hyperbolic_tangent tanh
#define square_root sqrt
#define error_function erf
#define logarithm log
#define log_of_1_plus log1p
#define sine sin
#define cosine cos
#define power pow

// Runs STEP(j, n) over the columns; a row is complete before the next is begun.
#define OVER_ROW(size, STEP)                                              \
  for (int at = threadIdx.x; at < size; at += blockDim.x) { STEP(at, 1) } \
  __syncthreads();
#define OVER_NUMBERS(first, last, STEP) OVER_ROW(last, STEP)  // the first is always 0

// Other blocks add to the same row.
#define ADD_TO(to, x, n) atomicAdd(to, x)

// Stores the sum of the numbers that STEP(j, n) assigns to x; the number of threads is a power
// of 2.
#define SUM_ROW(size, STEP, to)                                                         \
  {                                                                                     \
    real x, total = 0;                                                                  \
    for (int at = threadIdx.x; at < size; at += blockDim.x) { STEP(at, 1) total += x; } \
    sums[threadIdx.x] = total;                                                          \
    __syncthreads();                                                                    \
    for (int half = blockDim.x / 2; half; half /= 2) {                                  \
      if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];            \
      __syncthreads();                                                                  \
    }                                                                                   \
    if (threadIdx.x == 0) to[0] = sums[0];                                              \
    __syncthreads();                                                                    \
  }

#define memcpy(to, from, bytes) copy_row(to, from, (bytes) / sizeof(real))
#define memset(to, zero, bytes) clear_row(to, (bytes) / sizeof(real))

static __device__ inline void copy_row(real *to, const real *from, int size) {
  for (int j = threadIdx.x; j < size; j += blockDim.x) to[j] = from[j];
  __syncthreads();
}

static __device__ inline void clear_row(real *to, int size) {
  for (int j = threadIdx.x; j < size; j += blockDim.x) to[j] = 0;
  __syncthreads();
}

static __device__ inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static __device__ inline real first_of_largest(real a, real b) {
  return (a >= b) | (a != a) ? a : b;
}

static __device__ inline real sigmoid(real x) { return 1 / (1 + exp(-x)); }
