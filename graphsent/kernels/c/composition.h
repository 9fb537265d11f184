// TreeNet's compositor: one node. Gates are side by side, one for each slot, and the output's.

static void composition(int64_t size, int64_t count, const real *sums, const real *const *memories,
                        real *gates, real *kept, real *const *state) {
#define STEP(j, n)                                                 \
  vec c = all(0), o = sigmoid(load(sums + count * size + (j), n)); \
  for (int64_t k = 0; k < count; k++) {                            \
    vec gate = sigmoid(load(sums + k * size + (j), n));            \
    store(gates + k * size + (j), gate, n);                        \
    c += gate * load(memories[k] + (j), n);                        \
  }                                                                \
  vec tanh_c = hyperbolic_tangent(c);                              \
  store(gates + count * size + (j), o, n);                         \
  store(kept + (j), tanh_c, n);                                    \
  store(state[0] + (j), o * tanh_c, n);                            \
  store(state[1] + (j), c, n);
  OVER_ROW(size, STEP)
#undef STEP
}

// The gradients of all sums, and of the memories side by side.
static void composition_gradient(int64_t size, int64_t count, const real *gates,
                                 const real *const *memories, const real *kept,
                                 const real *const *dstate, real *dsums, real *dmemories) {
#define STEP(j, n)                                                                       \
  vec o = load(gates + count * size + (j), n), tanh_c = load(kept + (j), n);             \
  vec through_o = o * load(dstate[0] + (j), n);                                          \
  vec dc = load(dstate[1] + (j), n) + through_o * (1 - tanh_c * tanh_c);                 \
  store(dsums + count * size + (j), through_o * (1 - o) * tanh_c, n);                    \
  for (int64_t k = 0; k < count; k++) {                                                  \
    vec gate = load(gates + k * size + (j), n), through = dc * gate;                     \
    store(dmemories + k * size + (j), through, n);                                       \
    store(dsums + k * size + (j), through * (1 - gate) * load(memories[k] + (j), n), n); \
  }
  OVER_ROW(size, STEP)
#undef STEP
}
