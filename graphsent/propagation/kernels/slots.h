// The walk of cells that have their predecessors in slots: all gates see h in all slots.

// What the threads of a team share, and the scratch of one.
struct slots {
  const struct walk *w;
  int64_t inner;         // nodes
  int64_t slots, gates;  // numbers in all slots of a node, and in its gates
  int64_t block;         // rows that are handled at once
  real *packed, *zeros;  // the weight, and a state
  real *base;            // what is added to all sums
  real *scratch;         // of this thread; the others' are `stride` numbers before and after
  int64_t stride, total;
  // In a scratch, after rows: their sums, and gates and tanh(c) where they are not kept. In the
  // backward pass: the gradients of h in the slots, and of c.
  int64_t sums, others;
};

static struct slots divide_slots(const struct walk *w, int backward, int64_t thread) {
  struct slots s = {.w = w, .slots = w->count * w->size, .gates = w->num_gates * w->size};
  const int64_t depth = backward ? s.gates : s.slots, columns = backward ? s.slots : s.gates;
  int64_t largest = 1, end = 0;
  for (int64_t level = 0; level < w->num_levels; level++) {
    if (w->level_ends[level] - end > largest) largest = w->level_ends[level] - end;
    end = w->level_ends[level];
  }
  s.inner = end;
  s.block = smaller((CACHE / (depth + columns) / TILE_ROWS + 1) * TILE_ROWS, largest);
  s.sums = backward || w->gathered ? 0 : s.block * s.slots;
  s.others = s.sums + s.block * padded(columns);
  s.stride = s.others + (backward ? s.block * s.slots : s.gates + w->size);
  if (backward && s.stride < scratch_for_transposed(s.slots)) {
    s.stride = scratch_for_transposed(s.slots);
  }
  s.packed = w->workspace;
  s.zeros = s.packed + depth * padded(columns);
  s.base = s.zeros + w->size;
  s.scratch = s.base + s.gates + thread * s.stride;
  s.total = s.base + s.gates + w->num_threads * s.stride - w->workspace;
  return s;
}

static inline const real *state_in(const struct slots *s, int part, int64_t slot) {
  const int64_t position = s->w->source[slot];
  return position == s->w->num_nodes ? s->zeros : state_at(s->w, part, position);
}

static inline void memories_of(const struct slots *s, int64_t row, const real **memories) {
  const int64_t count = s->w->count;
  for (int64_t k = 0; k < count; k++) {
    memories[k] = state_in(s, 1, row * count + k);
  }
}

// Inputs that are one row for all nodes, and the bias.
static void fill_base(const struct slots *s) {
  const struct walk *w = s->w;
  memset(s->base, 0, s->gates * sizeof(real));
  if (w->bias) add(s->base, w->bias, 0, s->gates);
  for (int64_t gate = 0; gate < w->num_gates && !w->input_stride; gate++) {
    add(s->base + gate * w->size, w->inputs + w->input_of[gate] * w->size, 0, w->size);
  }
}

static void slots_block(const struct slots *s, int64_t first, int64_t last) {
  const struct walk *w = s->w;
  const int64_t size = w->size;
  real *rows = w->gathered ? w->gathered + first * s->slots : s->scratch;
  for (int64_t slot = first * w->count; slot < last * w->count; slot++) {
    memcpy(rows + slot * size - first * s->slots, state_in(s, 0, slot), size * sizeof(real));
  }
  real *sums = s->scratch + s->sums, *unused = s->scratch + s->others;
  multiply(rows, s->slots, last - first, s->packed, s->slots, s->gates, sums);
  for (int64_t row = first; row < last; row++, sums += padded(s->gates)) {
    add(sums, s->base, 0, s->gates);
    for (int64_t gate = 0; gate < w->num_gates && w->input_stride; gate++) {
      const real *inputs = w->inputs + row * w->input_stride + w->input_of[gate] * size;
      add(sums + gate * size, inputs, 0, size);
    }
    const real *memories[w->count];
    memories_of(s, row, memories);
    const int64_t place = (w->num_sources + row) * size;
    real *const state[] = {w->states[0] + place, w->states[1] + place};
    nary(w->has_output, size, w->count, sums, memories, w->gates ? w->gates + row * s->gates : unused,
         w->kept ? w->kept + row * size : unused + s->gates, state);
  }
}

static void slots_forward_by(const struct walk *w, int64_t thread, int64_t threads) {
  const struct slots s = divide_slots(w, 0, thread);
  pack(w->weight, 1, s.slots, s.slots, s.gates, s.packed, thread, threads);
  if (thread == 0) {
    memset(s.zeros, 0, w->size * sizeof(real));
    fill_base(&s);
  }
  copy_leaves(w, 2, thread, threads);
  for (int64_t level = 0, begin = 0; level < w->num_levels; level++) {
    const int64_t end = w->level_ends[level], last = share(begin, end, thread + 1, threads);
    BARRIER
    for (int64_t row = share(begin, end, thread, threads); row < last; row += s.block) {
      slots_block(&s, row, smaller(row + s.block, last));
    }
    begin = end;
  }
}

// The gradients of the sums of some nodes and, in the scratch, those of the states in their slots.
static void slots_gradient_block(const struct slots *s, int64_t first, int64_t last) {
  const struct walk *w = s->w;
  real *dh = s->scratch, *dc = s->scratch + s->others;
  for (int64_t row = first; row < last; row++, dc += s->slots) {
    const real *memories[w->count];
    memories_of(s, row, memories);
    const int64_t position = w->num_sources + row;
    const real *const dstate[] = {gradient_at(w, 0, position), gradient_at(w, 1, position)};
    nary_gradient(w->has_output, w->size, w->count, w->gates + row * s->gates, memories,
                  w->kept + row * w->size, dstate, w->dsums + row * s->gates, dc);
  }
  multiply(w->dsums + first * s->gates, s->gates, last - first, s->packed, s->gates, s->slots, dh);
}

// Adds some columns of what a block has found, in some scratch, where they belong.
static void send_gradients(const struct slots *s, const real *scratch, int64_t first, int64_t last,
                           int64_t from, int64_t to) {
  const struct walk *w = s->w;
  const int64_t size = w->size;
  const real *dh = scratch, *dc = scratch + s->others, *dsums = w->dsums + first * s->gates;
  for (int64_t row = first; row < last; row++) {
    for (int64_t k = 0; k < w->count; k++) {
      const int64_t source = w->source[row * w->count + k];
      if (source == w->num_nodes) continue;
      add(gradient_at(w, 0, source), dh + k * size, from, to);
      add(gradient_at(w, 1, source), dc + k * size, from, to);
    }
    for (int64_t gate = 0; gate < w->num_gates; gate++) {
      add(w->dbias + gate * size, dsums + gate * size, from, to);
      if (!w->input_stride) continue;
      real *dinputs = w->dinputs + row * w->input_stride + w->input_of[gate] * size;
      add(dinputs, dsums + gate * size, from, to);
    }
    dh += padded(s->slots), dc += s->slots, dsums += s->gates;
  }
}

static void slots_backward_by(const struct walk *w, int64_t thread, int64_t threads) {
  const struct slots s = divide_slots(w, 1, thread);
  const int64_t from = share(0, w->size, thread, threads);
  const int64_t to = share(0, w->size, thread + 1, threads);
  pack(w->weight, s.slots, 1, s.gates, s.slots, s.packed, thread, threads);
  if (thread == 0) memset(s.zeros, 0, w->size * sizeof(real));
  begin_gradients(w, 2, from, to);
  for (int64_t level = w->num_levels - 1; level >= 0; level--) {
    const int64_t end = w->level_ends[level];
    for (int64_t begin = level ? w->level_ends[level - 1] : 0; begin < end;) {
      const int64_t next = smaller(begin + threads * s.block, end);
      BARRIER
      slots_gradient_block(&s, share(begin, next, thread, threads),
                           share(begin, next, thread + 1, threads));
      BARRIER
      for (int64_t part = 0; part < threads; part++) {
        send_gradients(&s, s.scratch + (part - thread) * s.stride,
                       share(begin, next, part, threads), share(begin, next, part + 1, threads),
                       from, to);
      }
      begin = next;
    }
  }
  BARRIER
  for (int64_t gate = 0; gate < w->num_gates && !w->input_stride && thread == 0; gate++) {
    add(w->dinputs + w->input_of[gate] * w->size, w->dbias + gate * w->size, 0, w->size);
  }
  multiply_transposed(w->dsums, s.gates, w->gathered, s.slots, s.inner, w->dweight, s.scratch,
                      thread, threads);
}

// Numbers that the workspace needs.
int64_t slots_workspace(const struct walk *w, int backward) {
  return divide_slots(w, backward, 0).total;
}

void slots_forward(const struct walk *w) { IN_TEAM(slots_forward_by, w); }

void slots_backward(const struct walk *w) { IN_TEAM(slots_backward_by, w); }
