// Tree-LSTMs with peepholes: what is no product, of one node.
//
// Gates are side by side in the order i, f (one for each slot, or one for all), g, o. All but g see
// memories: i and f those in the slots, o the new one. One f is for the sum of all memories.

// The memories of a forget gate, of which there are so many.
static inline vec memory_of(int64_t forgets, int64_t gate, int64_t count,
                            const real *const *memories, int64_t j, int n) {
  if (forgets > 1) return load(memories[gate] + j, n);
  vec sum = all(0);
  for (int64_t k = 0; k < count; k++) sum += load(memories[k] + j, n);
  return sum;
}

// c, from the sums of all gates but o.
static void peephole_memory(int64_t size, int64_t forgets, int64_t count, const real *sums,
                            const real *const *memories, real *gates, real *c) {
#define STEP(j, n)                                                         \
  const int64_t g = (1 + forgets) * size + (j);                            \
  vec i = sigmoid(load(sums + (j), n));                                    \
  vec update = hyperbolic_tangent(load(sums + g, n)), memory = i * update; \
  store(gates + (j), i, n);                                                \
  store(gates + g, update, n);                                             \
  for (int64_t k = 0; k < forgets; k++) {                                  \
    const int64_t f = (1 + k) * size + (j);                                \
    vec gate = sigmoid(load(sums + f, n));                                 \
    store(gates + f, gate, n);                                             \
    memory += gate * memory_of(forgets, k, count, memories, j, n);         \
  }                                                                        \
  store(c + (j), memory, n);
  OVER_ROW(size, STEP)
#undef STEP
}

// h, from two parts of the sum of o.
static void peephole_output(int64_t size, const real *sums, const real *through_c, const real *c,
                            real *output, real *kept, real *h) {
#define STEP(j, n)                                                 \
  vec o = sigmoid(load(sums + (j), n) + load(through_c + (j), n)); \
  vec tanh_c = hyperbolic_tangent(load(c + (j), n));               \
  store(output + (j), o, n);                                       \
  store(kept + (j), tanh_c, n);                                    \
  store(h + (j), o * tanh_c, n);
  OVER_ROW(size, STEP)
#undef STEP
}

// The gradients of the sum of o, and of c but for what comes through that.
static void peephole_output_gradient(int64_t size, const real *output, const real *kept,
                                     const real *const *dstate, real *dsum, real *dc) {
#define STEP(j, n)                                             \
  vec o = load(output + (j), n), tanh_c = load(kept + (j), n); \
  vec through = o * load(dstate[0] + (j), n);                  \
  store(dsum + (j), through * (1 - o) * tanh_c, n);            \
  store(dc + (j), load(dstate[1] + (j), n) + through * (1 - tanh_c * tanh_c), n);
  OVER_ROW(size, STEP)
#undef STEP
}

// The gradients of the other sums, and of the memories but for what comes through them: side by
// side if each has its f, else one for all.
static void peephole_memory_gradient(int64_t size, int64_t forgets, int64_t count,
                                     const real *gates, const real *const *memories, const real *dc,
                                     real *dsums, real *dmemories) {
#define STEP(j, n)                                                                  \
  const int64_t g = (1 + forgets) * size + (j);                                     \
  vec i = load(gates + (j), n), update = load(gates + g, n), d = load(dc + (j), n); \
  store(dsums + (j), d * update * (i - i * i), n);                                  \
  store(dsums + g, d * i * (1 - update * update), n);                               \
  for (int64_t k = 0; k < forgets; k++) {                                           \
    const int64_t f = (1 + k) * size + (j);                                         \
    vec gate = load(gates + f, n), through = d * gate;                              \
    vec memory = memory_of(forgets, k, count, memories, j, n);                      \
    store(dmemories + k * size + (j), through, n);                                  \
    store(dsums + f, through * (1 - gate) * memory, n);                             \
  }
  OVER_ROW(size, STEP)
#undef STEP
}
