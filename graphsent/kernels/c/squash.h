// Cells without gates, h = tanh(sum): one node.

static void squash(int64_t size, const real *sums, real *h) {
#define STEP(j, n) store(h + (j), hyperbolic_tangent(load(sums + (j), n)), n);
  OVER_ROW(size, STEP)
#undef STEP
}

static void squash_gradient(int64_t size, const real *h, const real *dh, real *dsums) {
#define STEP(j, n)          \
  vec x = load(h + (j), n); \
  store(dsums + (j), load(dh + (j), n) * (1 - x * x), n);
  OVER_ROW(size, STEP)
#undef STEP
}
