// Vectors of numbers.

#if SINGLE
typedef float real;
typedef int32_t word;  // as wide as a number
#else
typedef double real;
typedef int64_t word;
#endif

typedef real vec __attribute__((vector_size(VECTOR_BYTES)));
typedef real unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real)), may_alias));
typedef word mask __attribute__((vector_size(VECTOR_BYTES)));

enum { LANES = VECTOR_BYTES / sizeof(real) };

#define UNROLL _Pragma("GCC unroll 16")

static inline vec all(real x) { return x - (vec){0}; }

// The next n numbers as a vector; n is LANES, a constant, but in rows shorter than that.
static inline vec load(const real *from, int n) {
  if (n == LANES) return *(const unaligned *)from;
  vec x = {0};
  for (int i = 0; i < n; i++) x[i] = from[i];
  return x;
}

static inline void store(real *to, vec x, int n) {
  if (n == LANES) {
    *(unaligned *)to = x;
  } else {
    for (int i = 0; i < n; i++) to[i] = x[i];
  }
}

// Runs STEP(j, n), which handles n numbers from the j-th, over a row. The last vector overlaps the
// one before: a step must not read what it writes.
#define OVER_ROW(size, STEP)                                  \
  int64_t at = 0;                                             \
  for (; at + LANES <= size; at += LANES) { STEP(at, LANES) } \
  if (at < size && size < LANES) { STEP(0, (int)size) }       \
  if (at < size && size > LANES) { STEP(size - LANES, LANES) }

// The same without overlap, for some numbers of a row: a step may read what it writes.
#define OVER_NUMBERS(first, last, STEP)                       \
  int64_t at = first;                                         \
  for (; at + LANES <= last; at += LANES) { STEP(at, LANES) } \
  if (at < last) { STEP(at, (int)(last - at)) }

// Adds some numbers of a row to another.
static inline void add(real *to, const real *from, int64_t first, int64_t last) {
#define STEP(j, n) store(to + (j), load(to + (j), n) + load(from + (j), n), n);
  OVER_NUMBERS(first, last, STEP)
#undef STEP
}

static inline real dot(int64_t size, const real *a, const real *b) {
  vec sums = all(0);
#define STEP(j, n) sums += load(a + (j), n) * load(b + (j), n);
  OVER_NUMBERS(0, size, STEP)
#undef STEP
  real sum = 0;
  for (int i = 0; i < LANES; i++) sum += sums[i];
  return sum;
}
