// Mixtures of two slots, h = z * left + (1 - z) * right, of one node. The gate is z.

static void mixture(int64_t size, const real *sums, const real *const *slots, real *gates,
                    real *h) {
#define STEP(j, n)                                                       \
  vec z = sigmoid(load(sums + (j), n)), right = load(slots[1] + (j), n); \
  store(gates + (j), z, n);                                              \
  store(h + (j), right + z * (load(slots[0] + (j), n) - right), n);
  OVER_ROW(size, STEP)
#undef STEP
}

// The gradients of the sum, and of the slots side by side but for what comes through it.
static void mixture_gradient(int64_t size, const real *gates, const real *const *slots,
                             const real *dh, real *dsums, real *dslots) {
#define STEP(j, n)                                                                     \
  vec z = load(gates + (j), n), d = load(dh + (j), n), left = d * z, right = d - left; \
  vec difference = load(slots[0] + (j), n) - load(slots[1] + (j), n);                  \
  store(dslots + (j), left, n);                                                        \
  store(dslots + size + (j), right, n);                                                \
  store(dsums + (j), right * z * difference, n);
  OVER_ROW(size, STEP)
#undef STEP
}
