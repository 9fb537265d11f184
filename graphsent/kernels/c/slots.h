// The walk of cells that have their predecessors in slots: the recurrent gates see h in all slots,
// others inputs alone. With peepholes the early gates, those before g, see c in all slots, and the
// late one the new c.

// What the threads of a team share, and the scratch of one.
struct slots {
  const struct walk *w;
  struct places places;
  int64_t inner;                              // nodes
  int64_t gates;                              // numbers in the gates of a node
  int64_t recurrent;                          // and in those that see h in the slots
  int64_t early;                              // and in those that see c in the slots
  int64_t block;                              // rows that are handled at once
  real *packed, *packed_early, *packed_late;  // the weights, those of one slot after the other
  int64_t one, one_early;                     // numbers of a slot in them
  real *pair_sums;                            // (pairs, padded(gates)); gradients: (pairs, gates)
  real *zeros;                                // a state
  real *base;                                 // what is added to all sums
  real *scratch;  // of this thread; the others' are `stride` numbers before and after
  int64_t stride, total;
  // In a scratch, after rows that a product takes: sums, those of the late gate, and gates and
  // tanh(c) where they are not kept. In the backward pass: the gradients of h in the slots, those
  // of c that come through gates, those of memories that do not, those of c, and through the late
  // gate; and that of the bias, as far as it comes from rows of this thread.
  int64_t sums, more, others, dc, late, bias;
};

static void divide_scratch(struct slots *s, int backward) {
  const struct walk *w = s->w;
  const int64_t in_slots = s->block * w->count * padded(w->size), peepholes = w->forgets > 0;
  s->sums = s->block * (backward ? s->gates : w->size);
  if (backward) {
    s->more = s->sums + in_slots;
    s->others = s->more + peepholes * in_slots;
    s->dc = s->others + in_slots;
    s->late = s->dc + s->block * w->size;
    s->bias = larger(s->late + s->block * padded(w->size), scratch_for_transposed(w->size));
    s->stride = s->bias + s->gates;
  } else {
    s->more = s->sums + s->block * padded(s->gates);
    s->others = s->more + peepholes * s->block * padded(w->size);
    s->stride = s->others + s->gates + w->size;
  }
}

static struct slots divide_slots(const struct walk *w, int backward, int64_t thread) {
  struct slots s = {.w = w, .gates = w->num_gates * w->size};
  s.inner = w->num_nodes - w->num_sources;
  int64_t largest = 1;
  for (int64_t level = 0; level < w->num_levels; level++) {
    largest = larger(largest, first_row(w, level + 1) - first_row(w, level));
  }
  s.places = places_of(w, s.inner);
  s.recurrent = w->num_recurrent * w->size;
  s.early = w->forgets ? (1 + w->forgets) * w->size : 0;
  s.block = CACHE / (w->size + s.gates) / TILE_ROWS * TILE_ROWS + TILE_ROWS;
  const int64_t pairs_a_slot = smaller(w->num_starts, s.inner);  // or fewer
  s.block = smaller(s.block, larger(largest, pairs_a_slot));
  divide_scratch(&s, backward);
  s.one = backward ? s.recurrent * padded(w->size) : w->size * padded(s.recurrent);
  s.one_early = backward ? s.early * padded(w->size) : w->size * padded(s.early);
  s.packed = w->workspace;
  s.packed_early = s.packed + w->count * s.one;
  s.packed_late = s.packed_early + w->count * s.one_early;
  s.zeros = s.packed_late + (w->forgets ? w->size * padded(w->size) : 0);
  s.base = s.zeros + w->size;
  s.pair_sums = backward ? w->dsums + s.inner * s.gates : s.base + s.gates;
  s.scratch = s.base + s.gates + thread * s.stride;
  if (!backward) s.scratch += w->count * pairs_a_slot * padded(s.gates);
  s.total = s.scratch - thread * s.stride + w->num_threads * s.stride - w->workspace;
  return s;
}

// The links of a slot to some rows; returns the number of the first.
static inline int64_t links_to(const struct slots *s, int64_t slot, int64_t first, int64_t last,
                               int64_t *count) {
  const int64_t *earlier = s->places.earlier + slot * (s->inner + 1);
  *count = earlier[last] - earlier[first];
  return earlier[first];
}

// The memories that a node sees. Where one forget gate is for all of them, empty slots have none.
static inline int64_t memories_of(const struct slots *s, int64_t row, const real **memories) {
  const struct walk *w = s->w;
  int64_t n = 0;
  for (int64_t k = 0; k < w->count; k++) {
    const int64_t source = w->source[row * w->count + k];
    if (source < w->num_nodes) {
      memories[n++] = state_at(w, memory_part(w), source);
    } else if (w->forgets != 1) {
      memories[n++] = s->zeros;
    }
  }
  return n;
}

// Inputs that are one row for all nodes, and the bias.
static void fill_base(const struct slots *s) {
  const struct walk *w = s->w;
  memset(s->base, 0, s->gates * sizeof(real));
  if (w->bias) add(s->base, w->bias, 0, s->gates);
  for (int64_t gate = 0; gate < w->num_gates && !w->input_stride; gate++) {
    if (w->input_of[gate] < 0) continue;
    add(s->base + gate * w->size, w->inputs + w->input_of[gate] * w->size, 0, w->size);
  }
}

static void copy_rows(const struct rows *rows, int64_t first, int64_t count, int64_t size,
                      real *to) {
  for (int64_t n = 0; n < count; n++) {
    memcpy(to + n * size, row_of(rows, first + n), size * sizeof(real));
  }
}

// Sums of the products of some states in a slot: parts of the rows of each part of the state.
static void multiply_states(const struct slots *s, int64_t slot, const struct rows *parts,
                            int64_t first, int64_t count, struct sums to) {
  const int64_t size = s->w->size;
  copy_rows(&parts[0], first, count, size, s->scratch);
  multiply_into(s->scratch, size, count, s->packed + slot * s->one, size, s->recurrent, to);
  if (!s->early) return;
  to.add = 1;
  copy_rows(&parts[1], first, count, size, s->scratch);
  multiply_into(s->scratch, size, count, s->packed_early + slot * s->one_early, size, s->early, to);
}

// Whether the pairs of a slot are no more than are handled at once.
static int few_pairs(const struct slots *s) {
  for (int64_t k = 0; k < s->w->count; k++) {
    if (s->places.pair_ends[k] - first_pair(&s->places, k) > s->block) return 0;
  }
  return 1;
}

static void multiply_pairs(const struct slots *s, int64_t thread, int64_t threads) {
  const struct walk *w = s->w;
  for (int64_t k = 0; k < w->count; k++) {
    const int64_t begin = first_pair(&s->places, k), end = s->places.pair_ends[k];
    const int64_t last = share(begin, end, thread + 1, threads);
    const struct rows parts[] = {{w->start[0], w->size, s->places.pair_starts, NULL},
                                 {w->start[1], w->size, s->places.pair_starts, NULL}};
    for (int64_t n = share(begin, end, thread, threads); n < last; n += s->block) {
      const struct sums to = {s->pair_sums + n * padded(s->gates), padded(s->gates)};
      multiply_states(s, k, parts, n, smaller(s->block, last - n), to);
    }
  }
}

// What comes from the inputs and from pairs.
static void begin_sums(const struct slots *s, int64_t row, real *sums) {
  const struct walk *w = s->w;
  const real *inputs = w->inputs + place_of_input(w, row);
  memcpy(sums, s->base, s->gates * sizeof(real));
  for (int64_t gate = 0; gate < w->num_gates && w->input_stride; gate++) {
    if (w->input_of[gate] < 0) continue;
    add(sums + gate * w->size, inputs + w->input_of[gate] * w->size, 0, w->size);
  }
  for (int64_t k = 0; k < w->count; k++) {
    const int64_t pair = s->places.pair_of[row * w->count + k];
    if (pair >= 0) add(sums, s->pair_sums + pair * padded(s->gates), 0, s->recurrent);
  }
}

// The state of a node from its sums, which may be overwritten; with peepholes c alone.
static void make_state(const struct slots *s, int64_t row, real *sums) {
  const struct walk *w = s->w;
  const int64_t size = w->size, place = (w->num_sources + row) * size;
  real *unused = s->scratch + s->others, *gates = w->gates ? w->gates + row * s->gates : unused;
  real *kept = w->kept ? w->kept + row * size : unused + s->gates;
  real *const state[] = {w->states[0] + place, w->num_parts > 1 ? w->states[1] + place : NULL};
  const real *memories[w->count];
  const int64_t count = memories_of(s, row, memories);
  switch (w->rule) {
    case NARY:
      nary(w->has_output, size, count, sums, memories, gates, kept, state);
      break;
    case PEEPHOLE:
      peephole_memory(size, w->forgets, count, sums, memories, gates, state[1]);
      break;
    case MIXTURE:
      mixture(size, sums, memories, gates, state[0]);
      break;
    case SQUASH:
      squash(size, sums, state[0]);
      break;
    case COMPOSITION:
      composition(size, count, sums, memories, gates, kept, state);
      break;
    case LSTM:
      nary(GATED_LAST, size, count, sums, memories, gates, kept, state);
      break;
    case GRU:
      reset_gru(size, sums, memories[0], gates, state[0]);
  }
}

static void finish_states(const struct slots *s, int64_t first, int64_t last, const real *sums) {
  const struct walk *w = s->w;
  const int64_t size = w->size, width = padded(s->gates), late = s->gates - size;
  const real *c = w->states[1] + (w->num_sources + first) * size, *more = s->scratch + s->more;
  real *unused = s->scratch + s->others;
  multiply(c, size, last - first, s->packed_late, size, size, s->scratch + s->more);
  for (int64_t row = first; row < last; row++, sums += width, more += padded(size), c += size) {
    peephole_output(size, sums + late, more, c,
                    (w->gates ? w->gates + row * s->gates : unused) + late,
                    w->kept ? w->kept + row * size : unused + s->gates,
                    w->states[0] + (w->num_sources + row) * size);
  }
}

static void slots_block(const struct slots *s, int64_t first, int64_t last) {
  const struct walk *w = s->w;
  const int64_t width = padded(s->gates);
  real *sums = s->scratch + s->sums;
  for (int64_t row = first; row < last; row++) begin_sums(s, row, sums + (row - first) * width);
  for (int64_t k = 0; k < w->count; k++) {
    int64_t count, link = links_to(s, k, first, last, &count);
    const int64_t *sources = s->places.link_sources + k * s->inner;
    const struct rows parts[] = {{w->states[0], w->size, sources, NULL},
                                 {w->states[1], w->size, sources, NULL}};
    const int64_t *rows = s->places.link_rows + k * s->inner + link;
    multiply_states(s, k, parts, link, count, (struct sums){sums, width, rows, first, 1});
  }
  for (int64_t row = first; row < last; row++) make_state(s, row, sums + (row - first) * width);
  if (w->rule == PEEPHOLE) finish_states(s, first, last, sums);
}

// Packs the weights, and multiplies pairs by them: by each part while it is in the cache, if pairs
// are few.
static void begin_products(const struct slots *s, int64_t thread, int64_t threads) {
  const struct walk *w = s->w;
  const int64_t size = w->size, right = w->count * size;
  const int few = few_pairs(s);
  const struct rows h = {w->start[0], size, s->places.pair_starts, NULL};
  const struct rows c = {w->start[1], size, s->places.pair_starts, NULL};
  if (s->early) {
    pack_transposed(w->more_weights[1], size, size, size, s->packed_late, thread, threads);
  }
  for (int64_t k = 0; k < w->count; k++) {
    const int64_t first = first_pair(&s->places, k);
    const int64_t count = few ? s->places.pair_ends[k] - first : 0;
    struct sums to = {s->pair_sums + first * padded(s->gates), padded(s->gates), NULL, 0, 0};
    copy_rows(&h, first, count, size, s->scratch);
    pack_and_multiply(w->weight + k * size, right, size, s->recurrent, s->packed + k * s->one,
                      PANEL * size, s->scratch, count, to, thread, threads);
    if (!s->early) continue;
    to.add = 1;
    copy_rows(&c, first, count, size, s->scratch);
    // Threads have other columns of these sums.
    BARRIER
    pack_and_multiply(w->more_weights[0] + k * size, right, size, s->early,
                      s->packed_early + k * s->one_early, PANEL * size, s->scratch, count, to,
                      thread, threads);
  }
  if (few) return;
  BARRIER
  multiply_pairs(s, thread, threads);
}

static void slots_forward_by(const struct walk *w, int64_t thread, int64_t threads) {
  const struct slots s = divide_slots(w, 0, thread);
  if (thread == 0) {
    find_places(w, s.inner);
    memset(s.zeros, 0, w->size * sizeof(real));
    fill_base(&s);
  }
  begin_states(w, s.scratch, thread, threads);
  BARRIER
  begin_products(&s, thread, threads);
  for (int64_t level = 0; level < w->num_levels; level++) {
    const int64_t begin = first_row(w, level), end = first_row(w, level + 1);
    const int64_t last = share(begin, end, thread + 1, threads);
    BARRIER
    for (int64_t row = share(begin, end, thread, threads); row < last; row += s.block) {
      slots_block(&s, row, smaller(row + s.block, last));
    }
  }
  end_states(w, thread, threads);
}

// The arrays of a walk over slots. The backward pass finds those of the forward pass.
static void begin_slots(struct own_walk *own, const struct walk *given, int backward) {
  begin_walk(own, given, backward);
  struct walk *w = &own->walk;
  const int64_t inner = w->num_nodes - w->num_sources, gates = w->num_gates * w->size;
  const int rule = w->rule, has_gates = rule != SQUASH, has_kept = has_gates && w->num_parts > 1;
  if (w->keep) {
    w->places_size = size_of_places(w, inner);
    w->gates = has_gates ? take(&own->block, inner * gates) : NULL;
    w->kept = has_kept ? take(&own->block, inner * w->size) : NULL;
  } else {
    w->places = take_places(&own->workspace, size_of_places(w, inner));
  }
  if (backward) {
    w->seen = take_places(&own->workspace, size_of_seen(w, inner));
    w->dsums = take(&own->workspace, (inner + number_of_pairs(w)) * gates);
    if (!w->dbias && !w->input_stride) w->dbias = take(&own->workspace, gates);
  }
  begin_scratch(own, divide_slots(w, backward, 0).total);
}

void slots_sizes(struct walk *w, int backward) { tell_sizes(w, begin_slots, backward); }

void slots_forward(const struct walk *w) { run_walk(w, begin_slots, slots_forward_by, 0); }
