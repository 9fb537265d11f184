// SIMD vectors.

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

// The next n numbers as a vector; n is the constant LANES except in shorter rows.
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

// The numbers of two vectors with indices `from`; those of the second follow those of the first.
static inline vec pick(vec a, vec b, mask from) {
#ifdef __clang__
  vec x;
  UNROLL for (int i = 0; i < LANES; i++) x[i] = from[i] < LANES ? a[from[i]] : b[from[i] - LANES];
  return x;
#else
  return __builtin_shuffle(a, b, from);
#endif
}

// Swaps a bit, a constant, of the row index with that of the index within a row.
static inline __attribute__((always_inline)) void exchange(vec *rows, int bit) {
  mask low, high;
  UNROLL for (int i = 0; i < LANES; i++) {
    low[i] = i & bit ? LANES + i - bit : i;
    high[i] = low[i] + bit;
  }
  UNROLL for (int i = 0; i < LANES / 2; i++) {
    const int row = i / bit * 2 * bit + i % bit;
    vec a = rows[row], b = rows[row + bit];
    rows[row] = pick(a, b, low);
    rows[row + bit] = pick(a, b, high);
  }
}

// Transposes LANES rows of LANES numbers; `across` and `apart` are the strides of rows.
static inline void transpose(const real *from, int64_t across, real *to, int64_t apart) {
  vec rows[LANES];
  UNROLL for (int i = 0; i < LANES; i++) rows[i] = load(from + i * across, LANES);
  exchange(rows, 1);
  if (LANES > 2) exchange(rows, 2);
  if (LANES > 4) exchange(rows, 4);
  if (LANES > 8) exchange(rows, 8);
  UNROLL for (int i = 0; i < LANES; i++) store(to + i * apart, rows[i], LANES);
}

// Runs STEP(j, n), which handles n numbers from the j-th on, over a row. The last vector overlaps
// the one before: a step must not read what it writes. Steps are long, and expanded once.
#define OVER_ROW(size, STEP)                                             \
  if (size < LANES) { STEP(0, (int)size) }                               \
  for (int64_t at = 0; size >= LANES && at < size; at += LANES) {        \
    const int64_t begin = size % LANES ? smaller(at, size - LANES) : at; \
    STEP(begin, LANES)                                                   \
  }

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
