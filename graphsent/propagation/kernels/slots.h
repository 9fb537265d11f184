// The walk of cells that have their predecessors in slots: all gates see h in all slots. With
// peepholes the early gates, those before g, see c in all slots, and the late one the new c.

// What the threads of a team share, and the scratch of one.
struct slots {
  const struct walk *w;
  int64_t inner;                              // nodes
  int64_t slots, gates;                       // numbers in all slots of a node, and in its gates
  int64_t early;                              // and in those that see c in the slots
  int64_t block;                              // rows that are handled at once
  real *packed, *packed_early, *packed_late;  // the weights
  real *zeros;                                // a state
  real *base;                                 // what is added to all sums
  real *scratch;  // of this thread; the others' are `stride` numbers before and after
  int64_t stride, total;
  // In a scratch, after rows of both parts: their sums, more of them, and gates and tanh(c) where
  // they are not kept. In the backward pass: the gradients of h in the slots, more of them, those
  // of c in the slots, and those of c.
  int64_t sums, more, others, dc;
};

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static struct slots divide_slots(const struct walk *w, int backward, int64_t thread) {
  struct slots s = {.w = w, .slots = w->count * w->size, .gates = w->num_gates * w->size};
  const int64_t depth = backward ? s.gates : s.slots, columns = backward ? s.slots : s.gates;
  int64_t largest = 1, end = 0;
  for (int64_t level = 0; level < w->num_levels; level++) {
    largest = larger(largest, w->level_ends[level] - end);
    end = w->level_ends[level];
  }
  s.inner = end;
  s.early = w->forgets ? (1 + w->forgets) * w->size : 0;
  s.block = smaller((CACHE / (depth + columns) / TILE_ROWS + 1) * TILE_ROWS, largest);
  s.sums = backward || w->gathered[0] ? 0 : 2 * s.block * s.slots;
  s.more = s.sums + s.block * padded(columns);
  s.others = s.more + (w->forgets ? s.block * padded(larger(columns, w->size)) : 0);
  s.dc = s.others + (backward ? s.block * s.slots : s.gates);
  s.stride = s.dc + (backward && w->forgets ? s.block : 1) * w->size;
  if (backward) s.stride = larger(s.stride, scratch_for_transposed(s.slots));
  s.packed = w->workspace;
  s.packed_early = s.packed + depth * padded(columns);
  s.packed_late =
      s.packed_early + (backward ? s.early * padded(s.slots) : s.slots * padded(s.early));
  s.zeros = s.packed_late + (w->forgets ? w->size * padded(w->size) : 0);
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
    memories[k] = state_in(s, memory_part(s->w), row * count + k);
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

// Copies a part of the states in the slots of some nodes.
static const real *gather_slots(const struct slots *s, int part, int64_t first, int64_t last) {
  const struct walk *w = s->w;
  real *rows = s->scratch + part * s->block * s->slots;
  if (w->gathered[part]) rows = w->gathered[part] + first * s->slots;
  for (int64_t slot = first * w->count; slot < last * w->count; slot++) {
    memcpy(rows + slot * w->size - first * s->slots, state_in(s, part, slot),
           w->size * sizeof(real));
  }
  return rows;
}

static void slots_block(const struct slots *s, int64_t first, int64_t last) {
  const struct walk *w = s->w;
  const int64_t size = w->size, width = padded(s->gates), num_rows = last - first;
  real *sums = s->scratch + s->sums, *more = s->scratch + s->more, *unused = s->scratch + s->others;
  multiply(gather_slots(s, 0, first, last), s->slots, num_rows, s->packed, s->slots, s->gates,
           sums);
  if (w->forgets) {
    const real *rows = gather_slots(s, 1, first, last);
    multiply(rows, s->slots, num_rows, s->packed_early, s->slots, s->early, more);
  }
  for (int64_t row = first; row < last; row++, sums += width) {
    add(sums, s->base, 0, s->gates);
    for (int64_t gate = 0; gate < w->num_gates && w->input_stride; gate++) {
      const real *inputs = w->inputs + row * w->input_stride + w->input_of[gate] * size;
      add(sums + gate * size, inputs, 0, size);
    }
    const real *memories[w->count];
    memories_of(s, row, memories);
    const int64_t place = (w->num_sources + row) * size;
    real *const state[] = {w->states[0] + place, w->num_parts > 1 ? w->states[1] + place : NULL};
    real *gates = w->gates ? w->gates + row * s->gates : unused;
    if (w->num_parts == 1) {
      mixture(size, sums, memories, gates, state[0]);
    } else if (w->forgets) {
      add(sums, more + (row - first) * padded(s->early), 0, s->early);
      peephole_memory(size, w->forgets, w->count, sums, memories, gates, state[1]);
    } else {
      nary(w->has_output, size, w->count, sums, memories, gates,
           w->kept ? w->kept + row * size : unused + s->gates, state);
    }
  }
  if (!w->forgets) return;
  const real *c = w->states[1] + (w->num_sources + first) * size;
  const int64_t late = s->gates - size;
  multiply(c, size, num_rows, s->packed_late, size, size, more);
  sums -= num_rows * width;
  for (int64_t row = first; row < last; row++, sums += width, more += padded(size), c += size) {
    peephole_output(size, sums + late, more, c,
                    (w->gates ? w->gates + row * s->gates : unused) + late,
                    w->kept ? w->kept + row * size : unused + s->gates,
                    w->states[0] + (w->num_sources + row) * size);
  }
}

static void slots_forward_by(const struct walk *w, int64_t thread, int64_t threads) {
  const struct slots s = divide_slots(w, 0, thread);
  pack(w->weight, 1, s.slots, s.slots, s.gates, s.packed, thread, threads);
  if (w->forgets) {
    pack(w->more_weights[0], 1, s.slots, s.slots, s.early, s.packed_early, thread, threads);
    pack(w->more_weights[1], 1, w->size, w->size, w->size, s.packed_late, thread, threads);
  }
  if (thread == 0) {
    memset(s.zeros, 0, w->size * sizeof(real));
    fill_base(&s);
  }
  copy_leaves(w, thread, threads);
  for (int64_t level = 0, begin = 0; level < w->num_levels; level++) {
    const int64_t end = w->level_ends[level], last = share(begin, end, thread + 1, threads);
    BARRIER
    for (int64_t row = share(begin, end, thread, threads); row < last; row += s.block) {
      slots_block(&s, row, smaller(row + s.block, last));
    }
    begin = end;
  }
}

// With peepholes: the gradients of the sums of late gates and, in the scratch, of c.
static void late_gradient_block(const struct slots *s, int64_t first, int64_t last) {
  const struct walk *w = s->w;
  const int64_t size = w->size, late = s->gates - size;
  real *more = s->scratch + s->more, *dc = s->scratch + s->dc;
  for (int64_t row = first; row < last; row++) {
    const int64_t position = w->num_sources + row, at = row * s->gates + late;
    const real *const dstate[] = {gradient_at(w, 0, position), gradient_at(w, 1, position)};
    peephole_output_gradient(size, w->gates + at, w->kept + row * size, dstate, w->dsums + at,
                             dc + (row - first) * size);
  }
  multiply(w->dsums + first * s->gates + late, s->gates, last - first, s->packed_late, size, size,
           more);
  for (int64_t row = 0; row < last - first; row++) {
    add(dc + row * size, more + row * padded(size), 0, size);
  }
}

// The gradients of the sums of some nodes and, in the scratch, those of the states in their slots.
static void slots_gradient_block(const struct slots *s, int64_t first, int64_t last) {
  const struct walk *w = s->w;
  const int64_t size = w->size;
  real *dslots = s->scratch + s->others, *more = s->scratch + s->more, *dc = s->scratch + s->dc;
  if (w->forgets) late_gradient_block(s, first, last);
  for (int64_t row = first; row < last; row++, dslots += s->slots, dc += size) {
    const real *memories[w->count], *gates = w->gates + row * s->gates;
    memories_of(s, row, memories);
    real *dsums = w->dsums + row * s->gates;
    if (w->num_parts == 1) {
      const real *dh = gradient_at(w, 0, w->num_sources + row);
      mixture_gradient(size, gates, memories, dh, dsums, dslots);
    } else if (w->forgets) {
      peephole_memory_gradient(size, w->forgets, w->count, gates, memories, dc, dsums, dslots);
    } else {
      const int64_t position = w->num_sources + row;
      const real *const dstate[] = {gradient_at(w, 0, position), gradient_at(w, 1, position)};
      nary_gradient(w->has_output, size, w->count, gates, memories, w->kept + row * size, dstate,
                    dsums, dslots);
    }
  }
  const real *dsums = w->dsums + first * s->gates;
  multiply(dsums, s->gates, last - first, s->packed, s->gates, s->slots, s->scratch);
  if (!w->forgets) return;
  multiply(dsums, s->gates, last - first, s->packed_early, s->early, s->slots, more);
  dslots = s->scratch + s->others;
  for (int64_t row = 0; row < last - first; row++) {
    add(dslots + row * s->slots, more + row * padded(s->slots), 0, s->slots);
  }
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
      add(gradient_at(w, memory_part(w), source), dc + k * size, from, to);
    }
    for (int64_t gate = 0; gate < w->num_gates; gate++) {
      add(w->dbias + gate * size, dsums + gate * size, from, to);
      if (!w->input_stride) continue;
      real *dinputs = w->dinputs + row * w->input_stride + w->input_of[gate] * size;
      if (gate && w->input_of[gate] == w->input_of[gate - 1]) {
        add(dinputs, dsums + gate * size, from, to);
      } else {
        memcpy(dinputs + from, dsums + gate * size + from, (to - from) * sizeof(real));
      }
    }
    dh += padded(s->slots), dc += s->slots, dsums += s->gates;
  }
}

static void slots_backward_by(const struct walk *w, int64_t thread, int64_t threads) {
  const struct slots s = divide_slots(w, 1, thread);
  const int64_t from = share(0, w->size, thread, threads);
  const int64_t to = share(0, w->size, thread + 1, threads);
  pack(w->weight, s.slots, 1, s.gates, s.slots, s.packed, thread, threads);
  if (w->forgets) {
    pack(w->more_weights[0], s.slots, 1, s.early, s.slots, s.packed_early, thread, threads);
    pack(w->more_weights[1], w->size, 1, w->size, w->size, s.packed_late, thread, threads);
  }
  if (thread == 0) memset(s.zeros, 0, w->size * sizeof(real));
  begin_gradients(w, from, to);
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
  multiply_transposed(w->dsums, s.gates, w->gathered[0], s.slots, s.inner, w->dweight, s.scratch,
                      thread, threads);
}

// Numbers that the workspace needs.
int64_t slots_workspace(const struct walk *w, int backward) {
  return divide_slots(w, backward, 0).total;
}

void slots_forward(const struct walk *w) { IN_TEAM(slots_forward_by, w); }

void slots_backward(const struct walk *w) { IN_TEAM(slots_backward_by, w); }
