// Tree-LSTMs: what is no product, of one node.
//
// Gates are side by side in the order i, o, u, f (one for each slot); without output gate i, u, f;
// over sequences, with one predecessor, i, f, u, o, as torch has them. What is kept for the backward
// pass are the gates and tanh(c).

enum { UNGATED, GATED, GATED_LAST };  // `output`: no output gate, one before u, one behind f

// Where o and the first f begin.
static inline int64_t output_gate(int output, int64_t size) {
  return output == GATED_LAST ? 3 * size : size;
}

static inline int64_t forget_gate(int output, int64_t size) {
  return output == GATED_LAST ? size : (2 + output) * size;
}

static inline int64_t update_gate(int output, int64_t size) { return output ? 2 * size : size; }

// The gates from their sums, `forgets` of them forget gates. Loops over one function each are a
// third faster than one over all of them: there are more independent steps for the processor.
static inline void lstm_gates(int output, int64_t size, int64_t forgets, const real *sums,
                              real *gates) {
  const int64_t u = update_gate(output, size), rest = u + size;
  sigmoid_of(u, sums, gates);
  tanh_of(size, sums + u, gates + u);
  sigmoid_of(forgets * size, sums + rest, gates + rest);
}

// h and c, from the gates and what the forget gates have left of the memory.
static inline void lstm_state(int output, int64_t size, const real *gates, vec memory,
                              real *kept, real *const *state, int64_t j, int n) {
  const int64_t o = output_gate(output, size) + j, u = update_gate(output, size) + j;
  vec c = load(gates + j, n) * load(gates + u, n) + memory, tanh_c = hyperbolic_tangent(c);
  vec h = output ? tanh_c * load(gates + o, n) : tanh_c;
  store(kept + j, tanh_c, n);
  store(state[0] + j, h, n);
  store(state[1] + j, c, n);
}

// The gradients of the sums of i, o, u; returns that of the memory that was left.
static inline vec lstm_gradient(int output, int64_t size, const real *gates, const real *kept,
                                const real *const *dstate, real *dsums, int64_t j, int n) {
  const int64_t o = output_gate(output, size) + j, u = update_gate(output, size) + j;
  vec i = load(gates + j, n), update = load(gates + u, n), tanh_c = load(kept + j, n);
  vec dtanh = load(dstate[0] + j, n);
  if (output) {
    vec gate = load(gates + o, n);
    store(dsums + o, dtanh * tanh_c * (gate - gate * gate), n);
    dtanh *= gate;
  }
  vec dc = load(dstate[1] + j, n) + dtanh * (1 - tanh_c * tanh_c);
  store(dsums + j, dc * update * (i - i * i), n);
  store(dsums + u, dc * i * (1 - update * update), n);
  return dc;
}

// A node with the memories of its children; `output` is a constant.
static inline __attribute__((always_inline)) void nary_with(int output, int64_t size,
                                                            int64_t count, const real *sums,
                                                            const real *const *memories,
                                                            real *gates, real *kept,
                                                            real *const *state) {
  lstm_gates(output, size, count, sums, gates);
#define STEP(j, n)                                                    \
  vec memory = all(0);                                                \
  for (int64_t k = 0; k < count; k++) {                               \
    const int64_t f = forget_gate(output, size) + k * size + (j);     \
    memory += load(gates + f, n) * load(memories[k] + (j), n);        \
  }                                                                   \
  lstm_state(output, size, gates, memory, kept, state, j, n);
  OVER_ROW(size, STEP)
#undef STEP
}

static void nary(int output, int64_t size, int64_t count, const real *sums,
                 const real *const *memories, real *gates, real *kept, real *const *state) {
  if (output == GATED_LAST) {
    nary_with(GATED_LAST, size, 1, sums, memories, gates, kept, state);
  } else if (output) {
    nary_with(GATED, size, count, sums, memories, gates, kept, state);
  } else {
    nary_with(UNGATED, size, count, sums, memories, gates, kept, state);
  }
}

// The gradients of all sums, and of the memories side by side.
static inline __attribute__((always_inline)) void nary_gradient_with(
    int output, int64_t size, int64_t count, const real *gates, const real *const *memories,
    const real *kept, const real *const *dstate, real *dsums, real *dmemories) {
#define STEP(j, n)                                                            \
  vec dc = lstm_gradient(output, size, gates, kept, dstate, dsums, j, n);   \
  for (int64_t k = 0; k < count; k++) {                                     \
    const int64_t f = forget_gate(output, size) + k * size + (j);           \
    vec gate = load(gates + f, n), through = dc * gate;                     \
    store(dmemories + k * size + (j), through, n);                          \
    store(dsums + f, through * (1 - gate) * load(memories[k] + (j), n), n); \
  }
  OVER_ROW(size, STEP)
#undef STEP
}

static void nary_gradient(int output, int64_t size, int64_t count, const real *gates,
                          const real *const *memories, const real *kept, const real *const *dstate,
                          real *dsums, real *dmemories) {
  if (output == GATED_LAST) {
    nary_gradient_with(GATED_LAST, size, 1, gates, memories, kept, dstate, dsums, dmemories);
  } else if (output) {
    nary_gradient_with(GATED, size, count, gates, memories, kept, dstate, dsums, dmemories);
  } else {
    nary_gradient_with(UNGATED, size, count, gates, memories, kept, dstate, dsums, dmemories);
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
