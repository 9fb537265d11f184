// Tree-GRUs: what is no product, of one node. Gates are z and the candidate u, side by side.

// h = (1 - z) * u + z * attended
static void gru(int64_t size, const real *update, const real *candidate, const real *attended,
                real *gates, real *h) {
#define STEP(j, n)                                      \
  vec z = sigmoid(load(update + (j), n));               \
  vec u = hyperbolic_tangent(load(candidate + (j), n)); \
  store(gates + (j), z, n);                             \
  store(gates + size + (j), u, n);                      \
  store(h + (j), u + z * (load(attended + (j), n) - u), n);
  OVER_ROW(size, STEP)
#undef STEP
}

// The gradients of both sums, and of what was attended to.
static void gru_gradient(int64_t size, const real *gates, const real *attended, const real *dh,
                         real *dsums, real *dattended) {
#define STEP(j, n)                                                                      \
  vec z = load(gates + (j), n), u = load(gates + size + (j), n), d = load(dh + (j), n); \
  vec through = d * z;                                                                  \
  store(dattended + (j), through, n);                                                   \
  store(dsums + (j), through * (1 - z) * (load(attended + (j), n) - u), n);             \
  store(dsums + size + (j), (d - through) * (1 - u * u), n);
  OVER_ROW(size, STEP)
#undef STEP
}
