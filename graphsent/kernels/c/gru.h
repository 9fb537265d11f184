// GRUs: what is no product, of one node.

// h = (1 - z) * u + z * attended, with z and u, the candidate, from their sums.
static void gru(int64_t size, const real *update, const real *candidate, const real *attended,
                real *z_of, real *u_of, real *h) {
#define STEP(j, n)                                      \
  vec z = sigmoid(load(update + (j), n));               \
  vec u = hyperbolic_tangent(load(candidate + (j), n)); \
  store(z_of + (j), z, n);                              \
  store(u_of + (j), u, n);                              \
  store(h + (j), u + z * (load(attended + (j), n) - u), n);
  OVER_ROW(size, STEP)
#undef STEP
}

// The gradients of both sums, and of what was attended to.
static void gru_gradient(int64_t size, const real *z_of, const real *u_of, const real *attended,
                         const real *dh, real *dupdate, real *dcandidate, real *dattended) {
#define STEP(j, n)                                                                   \
  vec z = load(z_of + (j), n), u = load(u_of + (j), n), d = load(dh + (j), n);       \
  vec through = d * z;                                                               \
  store(dattended + (j), through, n);                                                \
  store(dupdate + (j), through * (1 - z) * (load(attended + (j), n) - u), n);        \
  store(dcandidate + (j), (d - through) * (1 - u * u), n);
  OVER_ROW(size, STEP)
#undef STEP
}

// The GRU that resets after the product, u = tanh(x + r * s). The sums are r, z, s, x, of which x
// is overwritten; the gates that are kept r, z, s, u.
static void reset_gru(int64_t size, real *sums, const real *before, real *gates, real *h) {
  const real *s = sums + 2 * size;
  real *x = sums + 3 * size;
  sigmoid_of(size, sums, gates);
  memcpy(gates + 2 * size, s, size * sizeof(real));
#define STEP(j, n) store(x + (j), load(x + (j), n) + load(gates + (j), n) * load(s + (j), n), n);
  OVER_NUMBERS(0, size, STEP)
#undef STEP
  gru(size, sums + size, x, before, gates + size, gates + 3 * size, h);
}

static void reset_gru_gradient(int64_t size, const real *gates, const real *before, const real *dh,
                               real *dsums, real *dbefore) {
  const real *s = gates + 2 * size;
  real *ds = dsums + 2 * size, *dx = ds + size;
  gru_gradient(size, gates + size, s + size, before, dh, dsums + size, dx, dbefore);
#define STEP(j, n)                                            \
  vec r = load(gates + (j), n), through = load(dx + (j), n) * r; \
  store(ds + (j), through, n);                                \
  store(dsums + (j), through * (1 - r) * load(s + (j), n), n);
  OVER_ROW(size, STEP)
#undef STEP
}
