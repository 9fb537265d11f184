// Tree-LSTMs: what is no product, of one node.
//
// Gates are side by side in the order i, o, u, f (one for each slot); without output gate i, u, f.
// What is kept for the backward pass are the gates and tanh(c).

// The gates from their sums, `forgets` of them forget gates. Loops over one function each are a
// third faster than one over all of them: there are more independent steps for the processor.
static inline void lstm_gates(int has_output, int64_t size, int64_t forgets, const real *sums,
                              real *gates) {
  const int64_t u = (1 + has_output) * size, f = u + size;
  sigmoid_of(u, sums, gates);
  tanh_of(size, sums + u, gates + u);
  sigmoid_of(forgets * size, sums + f, gates + f);
}

// h and c, from the gates and what the forget gates have left of the memory.
static inline void lstm_state(int has_output, int64_t size, const real *gates, vec memory,
                              real *kept, real *const *state, int64_t j, int n) {
  const int64_t o = size + j, u = has_output * size + o;
  vec c = load(gates + j, n) * load(gates + u, n) + memory, tanh_c = hyperbolic_tangent(c);
  vec h = has_output ? tanh_c * load(gates + o, n) : tanh_c;
  store(kept + j, tanh_c, n);
  store(state[0] + j, h, n);
  store(state[1] + j, c, n);
}

// The gradients of the sums of i, o, u; returns that of the memory that was left.
static inline vec lstm_gradient(int has_output, int64_t size, const real *gates, const real *kept,
                                const real *const *dstate, real *dsums, int64_t j, int n) {
  const int64_t o = size + j, u = has_output * size + o;
  vec i = load(gates + j, n), update = load(gates + u, n), tanh_c = load(kept + j, n);
  vec dtanh = load(dstate[0] + j, n);
  if (has_output) {
    vec output = load(gates + o, n);
    store(dsums + o, dtanh * tanh_c * (output - output * output), n);
    dtanh *= output;
  }
  vec dc = load(dstate[1] + j, n) + dtanh * (1 - tanh_c * tanh_c);
  store(dsums + j, dc * update * (i - i * i), n);
  store(dsums + u, dc * i * (1 - update * update), n);
  return dc;
}

// A node with the memories of its children; `has_output` is a constant.
static inline __attribute__((always_inline)) void nary_with(int has_output, int64_t size,
                                                            int64_t count, const real *sums,
                                                            const real *const *memories,
                                                            real *gates, real *kept,
                                                            real *const *state) {
  lstm_gates(has_output, size, count, sums, gates);
#define STEP(j, n)                                                    \
  vec memory = all(0);                                                \
  for (int64_t k = 0; k < count; k++) {                               \
    const int64_t f = (2 + has_output + k) * size + (j);              \
    memory += load(gates + f, n) * load(memories[k] + (j), n);        \
  }                                                                   \
  lstm_state(has_output, size, gates, memory, kept, state, j, n);
  OVER_ROW(size, STEP)
#undef STEP
}

static void nary(int has_output, int64_t size, int64_t count, const real *sums,
                 const real *const *memories, real *gates, real *kept, real *const *state) {
  if (has_output) {
    nary_with(1, size, count, sums, memories, gates, kept, state);
  } else {
    nary_with(0, size, count, sums, memories, gates, kept, state);
  }
}

// The gradients of all sums, and of the memories side by side.
static inline __attribute__((always_inline)) void nary_gradient_with(
    int has_output, int64_t size, int64_t count, const real *gates, const real *const *memories,
    const real *kept, const real *const *dstate, real *dsums, real *dmemories) {
#define STEP(j, n)                                                            \
  vec dc = lstm_gradient(has_output, size, gates, kept, dstate, dsums, j, n); \
  for (int64_t k = 0; k < count; k++) {                                       \
    const int64_t f = (2 + has_output + k) * size + (j);                      \
    vec gate = load(gates + f, n), through = dc * gate;                       \
    store(dmemories + k * size + (j), through, n);                            \
    store(dsums + f, through * (1 - gate) * load(memories[k] + (j), n), n);   \
  }
  OVER_ROW(size, STEP)
#undef STEP
}

static void nary_gradient(int has_output, int64_t size, int64_t count, const real *gates,
                          const real *const *memories, const real *kept, const real *const *dstate,
                          real *dsums, real *dmemories) {
  if (has_output) {
    nary_gradient_with(1, size, count, gates, memories, kept, dstate, dsums, dmemories);
  } else {
    nary_gradient_with(0, size, count, gates, memories, kept, dstate, dsums, dmemories);
  }
}

// A node of which all memory is left.
static void lstm_of_memory(int has_output, int64_t size, const real *sums, const real *memory,
                           real *gates, real *kept, real *const *state) {
  lstm_gates(has_output, size, 0, sums, gates);
#define STEP(j, n) \
  lstm_state(has_output, size, gates, load(memory + (j), n), kept, state, j, n);
  OVER_ROW(size, STEP)
#undef STEP
}

static void lstm_memory_gradient(int has_output, int64_t size, const real *gates, const real *kept,
                                 const real *const *dstate, real *dsums, real *dmemory) {
#define STEP(j, n) \
  store(dmemory + (j), lstm_gradient(has_output, size, gates, kept, dstate, dsums, j, n), n);
  OVER_ROW(size, STEP)
#undef STEP
}
