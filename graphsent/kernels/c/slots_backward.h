// The way back of the walk over slots.

// With peepholes: the gradients of the sums of late gates and, in the scratch, of c.
static void late_gradient_block(const struct slots *s, int64_t first, int64_t last) {
  const struct walk *w = s->w;
  const int64_t size = w->size, late = s->gates - size;
  real *more = s->scratch + s->late, *dc = s->scratch + s->dc;
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

// The gradients of a node's sums and, in the scratch, of the memories it sees.
static void sums_gradient(const struct slots *s, int64_t row, int64_t first) {
  const struct walk *w = s->w;
  const int64_t size = w->size, position = w->num_sources + row;
  const real *gates = w->gates ? w->gates + row * s->gates : NULL;
  const real *kept = w->kept ? w->kept + row * size : NULL;
  const real *dh = gradient_at(w, 0, position);
  real *dsums = w->dsums + row * s->gates;
  real *dmemories = s->scratch + s->others + (row - first) * w->count * size;
  const real *const dstate[] = {dh, w->num_parts > 1 ? gradient_at(w, 1, position) : NULL};
  const real *memories[w->count];
  const int64_t count = memories_of(s, row, memories);
  switch (w->rule) {
    case NARY:
      nary_gradient(w->has_output, size, count, gates, memories, kept, dstate, dsums, dmemories);
      break;
    case PEEPHOLE:
      peephole_memory_gradient(size, w->forgets, count, gates, memories,
                               s->scratch + s->dc + (row - first) * size, dsums, dmemories);
      break;
    case MIXTURE:
      mixture_gradient(size, gates, memories, dh, dsums, dmemories);
      break;
    case SQUASH:
      squash_gradient(size, w->states[0] + position * size, dh, dsums);
      break;
    case COMPOSITION:
      composition_gradient(size, count, gates, memories, kept, dstate, dsums, dmemories);
      break;
    case LSTM:
      nary_gradient(GATED_LAST, size, count, gates, memories, kept, dstate, dsums, dmemories);
      break;
    case GRU:
      reset_gru_gradient(size, gates, memories[0], dh, dsums, dmemories);
  }
}

// The gradients of states, in rows, through the products of their sums.
static void multiply_gradients(const struct slots *s, int64_t slot, const real *dsums,
                               int64_t count, real *dh, real *dc) {
  const int64_t size = s->w->size;
  multiply_into(dsums, s->gates, count, s->packed + slot * s->one, s->recurrent, size,
                (struct sums){dh, padded(size)});
  if (!s->early) return;
  multiply_into(dsums, s->gates, count, s->packed_early + slot * s->one_early, s->early, size,
                (struct sums){dc, padded(size)});
}

// The gradients of the sums of some nodes and, in the scratch, those of the states in their slots.
static void slots_gradient_block(const struct slots *s, int64_t first, int64_t last) {
  const struct walk *w = s->w;
  if (w->rule == PEEPHOLE) late_gradient_block(s, first, last);
  for (int64_t row = first; row < last; row++) sums_gradient(s, row, first);
  for (int64_t k = 0; k < w->count; k++) {
    int64_t count, link = links_to(s, k, first, last, &count), at = k * s->block * padded(w->size);
    const struct rows dsums = {w->dsums, s->gates, s->places.link_rows + k * s->inner, NULL};
    copy_rows(&dsums, link, count, s->gates, s->scratch);
    multiply_gradients(s, k, s->scratch, count, s->scratch + s->sums + at,
                       s->scratch + s->more + at);
  }
}

// Adds some columns of the gradients of what a node sees in its slots where they belong: to states
// of the first level, or of others. They are in a scratch, with those of other rows from the first.
static void send_to_states(const struct slots *s, const real *scratch, int64_t row, int64_t first,
                           int others, int64_t from, int64_t to) {
  const struct walk *w = s->w;
  const int64_t size = w->size, memory = memory_part(w);
  const real *direct = scratch + s->others + (row - first) * w->count * size;
  for (int64_t k = 0; k < w->count; k++) {
    const int64_t source = w->source[row * w->count + k];
    if (source == w->num_nodes || (source >= w->num_sources) != others) continue;
    if (w->rule != SQUASH && (others || w->dstart[memory])) {
      add(gradient_at(w, memory, source), direct + (w->forgets == 1 ? 0 : k * size), from, to);
    }
    if (!others) continue;  // the rest goes through pairs
    const int64_t *earlier = s->places.earlier + k * (s->inner + 1);
    const int64_t at = (k * s->block + earlier[row] - earlier[first]) * padded(size);
    add(gradient_at(w, 0, source), scratch + s->sums + at, from, to);
    if (s->early) add(gradient_at(w, 1, source), scratch + s->more + at, from, to);
  }
}

static void send_to_inputs(const struct slots *s, int64_t row, int64_t from, int64_t to) {
  const struct walk *w = s->w;
  const int64_t size = w->size;
  const real *dsums = w->dsums + row * s->gates;
  for (int64_t gate = 0; gate < w->num_gates && w->input_stride; gate++, dsums += size) {
    if (w->input_of[gate] < 0) continue;
    real *dinputs = w->dinputs + place_of_input(w, row) + w->input_of[gate] * size;
    if (w->input_rows || (gate && w->input_of[gate] == w->input_of[gate - 1])) {
      add(dinputs, dsums, from, to);
    } else {
      memcpy(dinputs + from, dsums + from, (to - from) * sizeof(real));
    }
  }
}

// Sends what a block of this thread has found, as far as no other thread sends to the same place.
static void send_own(const struct slots *s, int64_t first, int64_t last) {
  const struct walk *w = s->w;
  for (int64_t row = first; row < last; row++) {
    if (w->single_successor) send_to_states(s, s->scratch, row, first, 1, 0, w->size);
    if (!w->input_rows) send_to_inputs(s, row, 0, w->size);
    if (w->dbias) add(s->scratch + s->bias, w->dsums + row * s->gates, 0, s->gates);
  }
}

// Sends some columns of the rest of what a block has found, in some scratch.
static void send_shared(const struct slots *s, const real *scratch, int64_t first, int64_t last,
                        int64_t from, int64_t to) {
  const struct walk *w = s->w;
  for (int64_t row = first; row < last; row++) {
    send_to_states(s, scratch, row, first, 0, from, to);
    if (!w->single_successor) send_to_states(s, scratch, row, first, 1, from, to);
    if (w->input_rows) send_to_inputs(s, row, from, to);
  }
}

// The gradients of the sums of pairs: those of all nodes that see them.
static void sum_pairs(const struct slots *s, int64_t thread, int64_t threads) {
  const int64_t pairs = number_of_pairs(s->w);
  for (int64_t pair = share(0, pairs, thread, threads); pair < share(0, pairs, thread + 1, threads);
       pair++) {
    const int64_t *rows = s->places.seen_by + s->places.first_seen[pair];
    const int64_t count = s->places.first_seen[pair + 1] - s->places.first_seen[pair];
    real *sums = s->pair_sums + pair * s->gates;
    memcpy(sums, s->w->dsums + rows[0] * s->gates, s->gates * sizeof(real));
    for (int64_t n = 1; n < count; n++) add(sums, s->w->dsums + rows[n] * s->gates, 0, s->gates);
  }
}

// What all nodes share of the gradients of the sums: that of a bias, from what each thread has.
static void sum_bias(const struct slots *s, int64_t thread, int64_t threads) {
  const int64_t from = share(0, s->gates, thread, threads);
  const int64_t to = share(0, s->gates, thread + 1, threads);
  for (int64_t part = 0; part < threads && s->w->dbias; part++) {
    add(s->w->dbias, s->scratch + (part - thread) * s->stride + s->bias, from, to);
  }
}

// The gradients of the start through pairs, of which a slot has one for each row at most.
static void pairs_gradient(const struct slots *s, int64_t thread, int64_t threads) {
  const struct walk *w = s->w;
  const int64_t size = w->size;
  const real *dh = s->scratch + s->sums, *dc = s->scratch + s->more;
  for (int64_t k = 0; k < w->count && w->dstart[0]; k++) {
    BARRIER
    const int64_t begin = first_pair(&s->places, k), end = s->places.pair_ends[k];
    const int64_t last = share(begin, end, thread + 1, threads);
    for (int64_t n = share(begin, end, thread, threads); n < last; n += s->block) {
      const int64_t count = smaller(s->block, last - n);
      multiply_gradients(s, k, s->pair_sums + n * s->gates, count, s->scratch + s->sums,
                         s->scratch + s->more);
      for (int64_t i = 0; i < count; i++) {
        const int64_t at = s->places.pair_starts[n + i] * size;
        add(w->dstart[0] + at, dh + i * padded(size), 0, size);
        if (s->early) add(w->dstart[1] + at, dc + i * padded(size), 0, size);
      }
    }
  }
}

// The gradient of a weight that some gates, the first ones, have of a part of the states.
static void weight_gradient(const struct slots *s, int part, int64_t gates, real *dweight,
                            int64_t thread, int64_t threads) {
  const struct walk *w = s->w;
  const int64_t size = w->size;
  for (int64_t k = 0; k < w->count; k++) {
    int64_t links, at = k * s->inner;
    links_to(s, k, 0, s->inner, &links);
    links += s->places.pair_ends[k] - first_pair(&s->places, k);
    const struct rows dsums = {w->dsums, s->gates, s->places.link_rows + at, NULL};
    const struct rows states = {w->states[part], size, s->places.link_sources + at, w->start[part]};
    const struct sums to = {dweight + k * size, w->count * size};
    multiply_transposed(dsums, gates, states, size, links, to, s->scratch, thread, threads);
  }
}

// The gradient of the weight of the new c.
static void late_weight_gradient(const struct slots *s, int64_t thread, int64_t threads) {
  const struct walk *w = s->w;
  const int64_t size = w->size;
  const struct rows dsums = {w->dsums + s->gates - size, s->gates, NULL, NULL};
  const struct rows c = {w->states[1] + w->num_sources * size, size, NULL, NULL};
  const struct sums to = {w->dmore_weights[1], size};
  multiply_transposed(dsums, size, c, size, s->inner, to, s->scratch, thread, threads);
}

static void pack_for_gradients(const struct slots *s, int64_t thread, int64_t threads) {
  const struct walk *w = s->w;
  const int64_t size = w->size, down = w->count * size;
  for (int64_t k = 0; k < w->count; k++) {
    pack(w->weight + k * size, down, s->recurrent, size, s->packed + k * s->one, thread, threads);
    if (!s->early) continue;
    pack(w->more_weights[0] + k * size, down, s->early, size, s->packed_early + k * s->one_early,
         thread, threads);
  }
  if (s->early) pack(w->more_weights[1], size, size, size, s->packed_late, thread, threads);
}

static void slots_backward_by(const struct walk *w, int64_t thread, int64_t threads) {
  const struct slots s = divide_slots(w, 1, thread);
  const int64_t from = share(0, w->size, thread, threads);
  const int64_t to = share(0, w->size, thread + 1, threads);
  pack_for_gradients(&s, thread, threads);
  if (thread == 0) {
    find_seen(w, s.inner);
    memset(s.zeros, 0, w->size * sizeof(real));
    if (w->dbias) memset(w->dbias, 0, s.gates * sizeof(real));
  }
  // Gradients of inputs that nodes share are sums.
  if (w->input_rows || !w->input_stride) begin_inputs(w, thread, threads);
  memset(s.scratch + s.bias, 0, s.gates * sizeof(real));
  begin_gradients(w, thread, threads);
  for (int64_t level = w->num_levels - 1; level >= 0; level--) {
    const int64_t end = first_row(w, level + 1);
    for (int64_t begin = first_row(w, level); begin < end;) {
      const int64_t next = smaller(begin + threads * s.block, end);
      const int64_t first = share(begin, next, thread, threads);
      const int64_t last = share(begin, next, thread + 1, threads);
      BARRIER
      slots_gradient_block(&s, first, last);
      send_own(&s, first, last);
      BARRIER
      for (int64_t part = 0; part < threads; part++) {
        send_shared(&s, s.scratch + (part - thread) * s.stride, share(begin, next, part, threads),
                    share(begin, next, part + 1, threads), from, to);
      }
      begin = next;
    }
  }
  sum_pairs(&s, thread, threads);
  sum_bias(&s, thread, threads);
  pairs_gradient(&s, thread, threads);
  BARRIER
  end_gradients(w, thread, threads);
  for (int64_t gate = 0; gate < w->num_gates && !w->input_stride && thread == 0; gate++) {
    if (w->input_of[gate] < 0) continue;
    add(w->dinputs + w->input_of[gate] * w->size, w->dbias + gate * w->size, 0, w->size);
  }
  weight_gradient(&s, 0, s.recurrent, w->dweight, thread, threads);
  if (!s.early) return;
  weight_gradient(&s, 1, s.early, w->dmore_weights[0], thread, threads);
  late_weight_gradient(&s, thread, threads);
}

void slots_backward(const struct walk *w) { run_walk(w, begin_slots, slots_backward_by, 1); }
