// AdaGrad of some rows of a table, each named once.

static inline vec square_root(vec x) {
#if SINGLE
  UNROLL for (int i = 0; i < LANES; i++) x[i] = __builtin_sqrtf(x[i]);
#else
  UNROLL for (int i = 0; i < LANES; i++) x[i] = __builtin_sqrt(x[i]);
#endif
  return x;
}

// sums += g * g, table -= rate * g / (sqrt(sums) + eps) in n of `num_rows` rows of a size; returns
// 0, and does nothing, if there is no such row.
int64_t adagrad_rows(int64_t num_rows, int64_t size, int64_t n, const int64_t *rows,
                     const real *gradients, real *sums, real *table, double rate, double eps) {
  for (int64_t i = 0; i < n; i++) {
    if (rows[i] < 0 || rows[i] >= num_rows) return 0;
  }
  const real factor = rate, least = eps;
  for (int64_t i = 0; i < n; i++) {
    const real *g = gradients + i * size;
    real *sum = sums + rows[i] * size, *row = table + rows[i] * size;
#define STEP(j, n)                                          \
  vec d = load(g + (j), n), s = load(sum + (j), n) + d * d; \
  store(sum + (j), s, n);                                   \
  store(row + (j), load(row + (j), n) - factor * d / (square_root(s) + least), n);
    OVER_NUMBERS(0, size, STEP)
#undef STEP
  }
  return 1;
}
