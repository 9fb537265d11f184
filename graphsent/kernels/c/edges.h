// The walk of cells with gates at edges: those see h of the edge's source. What they make of the
// sources is pooled in two vectors of the target, and the gates of the node see these.
//
// Both vectors are sums over the edges e to a node, of a_e * h_e and gate_e * value_e. Tree-LSTMs
// have the memories as values, Tree-GRUs h. a_e is 1, or the softmax of w * tanh(the edge's first
// gate). The weights of the nodes have equal shares of the gates: Tree-LSTMs one, for the first
// vector, Tree-GRUs two.

// More rows than these are summed in parts: each addition to a long sum costs a bit of its digits.
enum { SUMMED_AT_ONCE = 256 };

struct edges {
  const struct walk *w;
  int64_t at_edge, at_node;   // numbers in the gates of an edge, and of a node
  int64_t products, columns;  // weights of nodes, and numbers in the gates of each
  int64_t block;              // edges that are handled at once
  real *packed_edge, *packed_node[2];
  real *sums, *dpooled[2];  // scratch of this thread
  int64_t total;
};

static struct edges divide_edges(const struct walk *w, int backward, int64_t thread) {
  struct edges e = {.w = w, .products = w->num_parts == 1 ? 2 : 1};
  e.at_edge = (1 + w->attentive) * w->size;
  e.at_node = w->num_gates * w->size;
  e.columns = e.at_node / e.products;
  e.block = (CACHE / (w->size + e.at_edge + e.at_node) / TILE_ROWS + 1) * TILE_ROWS;
  const int64_t columns = backward ? w->size : e.at_edge > e.columns ? e.at_edge : e.columns;
  const int64_t scratch = e.block * (2 * padded(columns) + 2 * w->size);
  real *free = w->workspace;
  e.packed_edge = free;
  free += backward ? e.at_edge * padded(w->size) : w->size * padded(e.at_edge);
  for (int64_t p = 0; p < e.products; p++) {
    e.packed_node[p] = free;
    free += backward ? e.columns * padded(w->size) : w->size * padded(e.columns);
  }
  e.sums = free + thread * scratch;
  for (int part = 0; part < 2; part++) {
    e.dpooled[part] = e.sums + e.block * (2 * padded(columns) + part * w->size);
  }
  e.total = free + w->num_threads * scratch - w->workspace;
  return e;
}

// Numbers of what the edge gates are applied to: h or c of the source.
static inline const real *value_at(const struct walk *w, int64_t edge) {
  return state_at(w, memory_part(w), w->source[edge]);
}

// The row behind as many rows, one at least, as there is space for in a block of edges.
static int64_t end_of_block(const struct edges *e, int64_t first, int64_t last) {
  int64_t row = first + 1;
  while (row < last && e->w->first_edge[row + 1] - e->w->first_edge[first] <= e->block) row++;
  return row;
}

// The gates of some edges; `row` is the target of the first one.
static void gates_of_edges(const struct edges *e, int64_t first, int64_t last, int64_t row) {
  const struct walk *w = e->w;
  const int64_t size = w->size;
  for (int64_t edge = first; edge < last; edge++) {
    memcpy(w->gathered + edge * size, state_at(w, 0, w->source[edge]), size * sizeof(real));
  }
  multiply(w->gathered + first * size, size, last - first, e->packed_edge, size, e->at_edge,
           e->sums);
  const real *sums = e->sums;
  for (int64_t edge = first; edge < last; edge++, sums += padded(e->at_edge)) {
    while (edge >= w->first_edge[row + 1]) row++;
    const real *inputs = w->inputs + place_of_input(w, row);
    real *gates = w->edge_gates + edge * e->at_edge;
    if (w->attentive) {
      tanh_row(size, sums, inputs + w->input_of[0] * size, gates);
      w->attention[edge] = dot(size, gates, w->vector);
    }
    const int64_t last_gate = w->attentive * size;
    sigmoid_row(size, sums + last_gate, inputs + w->input_of[w->attentive] * size,
                gates + last_gate);
  }
}

static void softmax(real *scores, int64_t count) {
  real highest = scores[0];
  double total = 0;
  for (int64_t k = 1; k < count; k++) highest = scores[k] > highest ? scores[k] : highest;
  for (int64_t k = 0; k < count; k++) total += scores[k] = exponential(all(scores[k] - highest))[0];
  for (int64_t k = 0; k < count; k++) scores[k] /= total;
}

// Adds what some edges to a node send to its two vectors.
static void pool_some(const struct edges *e, int64_t begin, int64_t end, real *attended,
                      real *gated) {
  const struct walk *w = e->w;
  const int64_t size = w->size;
  for (int64_t edge = begin; edge < end; edge++) {
    const real a = w->attentive ? w->attention[edge] : 1;
    const real *h = w->gathered + edge * size, *value = value_at(w, edge);
    const real *gate = w->edge_gates + edge * e->at_edge + w->attentive * size;
#define STEP(j, n)                                                          \
  store(attended + (j), load(attended + (j), n) + a * load(h + (j), n), n); \
  store(gated + (j), load(gated + (j), n) + load(gate + (j), n) * load(value + (j), n), n);
    OVER_NUMBERS(0, size, STEP)
#undef STEP
  }
}

static void pool(const struct edges *e, int64_t row) {
  const struct walk *w = e->w;
  const int64_t size = w->size, begin = w->first_edge[row], end = w->first_edge[row + 1];
  real *attended = w->pooled[0] + row * size, *gated = w->pooled[1] + row * size;
  if (w->attentive) softmax(w->attention + begin, end - begin);
  memset(attended, 0, size * sizeof(real));
  memset(gated, 0, size * sizeof(real));
  if (end - begin <= SUMMED_AT_ONCE) {
    pool_some(e, begin, end, attended, gated);
    return;
  }
  real *part = e->sums, *gated_part = part + size;
  for (int64_t edge = begin; edge < end; edge += SUMMED_AT_ONCE) {
    memset(part, 0, 2 * size * sizeof(real));
    pool_some(e, edge, smaller(edge + SUMMED_AT_ONCE, end), part, gated_part);
    add(attended, part, 0, size);
    add(gated, gated_part, 0, size);
  }
}

static void edges_block(const struct edges *e, int64_t first, int64_t last) {
  const struct walk *w = e->w;
  const int64_t size = w->size, width = padded(e->columns), end = w->first_edge[last];
  int64_t row = first;
  for (int64_t edge = w->first_edge[first]; edge < end; edge += e->block) {
    while (edge >= w->first_edge[row + 1]) row++;
    gates_of_edges(e, edge, smaller(edge + e->block, end), row);
  }
  for (row = first; row < last; row++) pool(e, row);
  const int64_t per_weight = w->num_gates / e->products, of_nodes = 1 + w->attentive;
  real *sums[2] = {e->sums, e->sums + (last - first) * width};
  for (int64_t p = 0; p < e->products; p++) {
    multiply(w->pooled[p] + first * size, size, last - first, e->packed_node[p], size, e->columns,
             sums[p]);
  }
  for (row = first; row < last; row++, sums[0] += width, sums[1] += width) {
    for (int64_t gate = 0; gate < w->num_gates; gate++) {
      add(sums[gate / per_weight] + gate % per_weight * size,
          w->inputs + place_of_input(w, row) + w->input_of[of_nodes + gate] * size, 0, size);
    }
    const int64_t place = (w->num_sources + row) * size;
    real *gates = w->gates + row * e->at_node;
    if (w->num_parts == 1) {
      gru(size, sums[0], sums[1], w->pooled[0] + row * size, gates, gates + size,
          w->states[0] + place);
    } else {
      real *const state[] = {w->states[0] + place, w->states[1] + place};
      lstm_of_memory(w->has_output, size, sums[0], w->pooled[1] + row * size, gates,
                     w->kept + row * size, state);
    }
  }
}

static void edges_forward_by(const struct walk *w, int64_t thread, int64_t threads) {
  const struct edges e = divide_edges(w, 0, thread);
  pack_transposed(w->weight, w->size, w->size, e.at_edge, e.packed_edge, thread, threads);
  for (int64_t p = 0; p < e.products; p++) {
    pack_transposed(w->more_weights[p], w->size, w->size, e.columns, e.packed_node[p], thread,
                    threads);
  }
  begin_states(w, e.sums, thread, threads);
  for (int64_t level = 0; level < w->num_levels; level++) {
    const int64_t begin = first_row(w, level), end = first_row(w, level + 1);
    const int64_t last = share(begin, end, thread + 1, threads);
    BARRIER
    for (int64_t row = share(begin, end, thread, threads), next; row < last; row = next) {
      next = end_of_block(&e, row, last);
      edges_block(&e, row, next);
    }
  }
  end_states(w, thread, threads);
}

// The gradients of the sums of a node's edges, and of what it has got from them but by the sums.
static void pool_gradient(const struct edges *e, int64_t row, const real *dattended,
                          const real *dgated) {
  const struct walk *w = e->w;
  const int64_t size = w->size, begin = w->first_edge[row], end = w->first_edge[row + 1];
  double mean = 0;
  for (int64_t edge = begin; edge < end; edge++) {
    const real a = w->attentive ? w->attention[edge] : 1;
    const int64_t gate_at = edge * e->at_edge + w->attentive * size;
    real *dh = w->messages[0] + edge * size, *dc = w->messages[1] + edge * size;
    real *dsum = w->dedge_sums + gate_at;
    const real *gate = w->edge_gates + gate_at, *value = value_at(w, edge);
    if (w->attentive) {
      w->dscores[edge] = a * dot(size, dattended, w->gathered + edge * size);
      mean += w->dscores[edge];
    }
#define STEP(j, n)                                                 \
  vec g = load(gate + (j), n), dvalue = g * load(dgated + (j), n); \
  store(dsum + (j), dvalue * (1 - g) * load(value + (j), n), n);   \
  if (w->num_parts > 1) store(dc + (j), dvalue, n);                \
  store(dh + (j), a * load(dattended + (j), n) + (w->num_parts > 1 ? all(0) : dvalue), n);
    OVER_ROW(size, STEP)
#undef STEP
  }
  for (int64_t edge = begin; edge < end && w->attentive; edge++) {
    const real dscore = w->dscores[edge] -= w->attention[edge] * mean;
    const real *gate = w->edge_gates + edge * e->at_edge;
    real *dsum = w->dedge_sums + edge * e->at_edge;
#define STEP(j, n)             \
  vec g = load(gate + (j), n); \
  store(dsum + (j), dscore * load(w->vector + (j), n) * (1 - g * g), n);
    OVER_ROW(size, STEP)
#undef STEP
  }
}

// Adds some columns of the gradients of a node's inputs, which nodes may share.
static void send_sums(const struct edges *e, int64_t row, int64_t from, int64_t to) {
  const struct walk *w = e->w;
  const int64_t size = w->size, of_edge = 1 + w->attentive;
  real *dinputs = w->dinputs + place_of_input(w, row);
  for (int64_t gate = 0; gate < w->num_gates; gate++) {
    const real *dsum = w->dsums + row * e->at_node + gate * size;
    add(dinputs + w->input_of[of_edge + gate] * size, dsum, from, to);
  }
  const int64_t begin = w->first_edge[row], end = w->first_edge[row + 1];
  for (int64_t gate = 0; gate < of_edge; gate++) {
    real *dinput = dinputs + w->input_of[gate] * size, *part = e->sums;
    const real *dsums = w->dedge_sums + gate * size;
    for (int64_t edge = begin; edge < end; edge += SUMMED_AT_ONCE) {
      const int64_t next = smaller(edge + SUMMED_AT_ONCE, end);
      memcpy(part + from, dsums + edge * e->at_edge + from, (to - from) * sizeof(real));
      for (int64_t k = edge + 1; k < next; k++) add(part, dsums + k * e->at_edge, from, to);
      add(dinput, part, from, to);
    }
  }
}

static void edges_gradient_block(const struct edges *e, int64_t first, int64_t last) {
  const struct walk *w = e->w;
  const int64_t size = w->size, width = padded(size);
  for (int64_t row = first; row < last; row++) {
    const int64_t position = w->num_sources + row;
    real *dsums = w->dsums + row * e->at_node;
    real *dattended = e->dpooled[0] + (row - first) * size;
    const real *gates = w->gates + row * e->at_node, *dh = gradient_at(w, 0, position);
    if (w->num_parts == 1) {
      gru_gradient(size, gates, gates + size, w->pooled[0] + row * size, dh, dsums, dsums + size,
                   dattended);
    } else {
      const real *const dstate[] = {dh, gradient_at(w, 1, position)};
      memset(dattended, 0, size * sizeof(real));
      lstm_memory_gradient(w->has_output, size, gates, w->kept + row * size, dstate, dsums,
                           e->dpooled[1] + (row - first) * size);
    }
  }
  for (int64_t p = 0; p < e->products; p++) {
    multiply(w->dsums + first * e->at_node + p * e->columns, e->at_node, last - first,
             e->packed_node[p], e->columns, size, e->sums);
    for (int64_t row = 0; row < last - first; row++) {
      real *dpooled = e->dpooled[p] + row * size;
      if (p) memset(dpooled, 0, size * sizeof(real));
      add(dpooled, e->sums + row * width, 0, size);
    }
  }
  for (int64_t row = first; row < last; row++) {
    pool_gradient(e, row, e->dpooled[0] + (row - first) * size,
                  e->dpooled[1] + (row - first) * size);
  }
  const int64_t end = w->first_edge[last];
  for (int64_t edge = w->first_edge[first]; edge < end; edge += e->block) {
    const int64_t count = smaller(e->block, end - edge);
    multiply(w->dedge_sums + edge * e->at_edge, e->at_edge, count, e->packed_edge, e->at_edge, size,
             e->sums);
    for (int64_t k = 0; k < count; k++) {
      add(w->messages[0] + (edge + k) * size, e->sums + k * width, 0, size);
    }
  }
}

// Adds some columns of the gradients that some rows have of states of the first level, if they are
// wanted, or of others.
static void send_messages(const struct walk *w, int64_t first, int64_t last, int others,
                          int64_t from, int64_t to) {
  if (!others && !w->dstart[0]) return;
  for (int64_t edge = w->first_edge[first]; edge < w->first_edge[last]; edge++) {
    if ((w->source[edge] >= w->num_sources) != others) continue;
    for (int part = 0; part < w->num_parts; part++) {
      add(gradient_at(w, part, w->source[edge]), w->messages[part] + edge * w->size, from, to);
    }
  }
}

static void edges_backward_by(const struct walk *w, int64_t thread, int64_t threads) {
  const struct edges e = divide_edges(w, 1, thread);
  const int64_t from = share(0, w->size, thread, threads);
  const int64_t to = share(0, w->size, thread + 1, threads);
  pack(w->weight, w->size, e.at_edge, w->size, e.packed_edge, thread, threads);
  for (int64_t p = 0; p < e.products; p++) {
    pack(w->more_weights[p], w->size, e.columns, w->size, e.packed_node[p], thread, threads);
  }
  begin_inputs(w, thread, threads);
  begin_gradients(w, thread, threads);
  for (int64_t level = w->num_levels - 1; level >= 0; level--) {
    const int64_t begin = first_row(w, level), end = first_row(w, level + 1);
    const int64_t first = share(begin, end, thread, threads);
    const int64_t last = share(begin, end, thread + 1, threads);
    BARRIER
    for (int64_t row = first, next; row < last; row = next) {
      next = end_of_block(&e, row, last);
      edges_gradient_block(&e, row, next);
    }
    if (w->single_successor) send_messages(w, first, last, 1, 0, w->size);
    BARRIER
    for (int64_t row = begin; row < end && w->input_stride; row++) {
      send_sums(&e, row, from, to);
    }
    send_messages(w, begin, end, 0, from, to);
    if (!w->single_successor) send_messages(w, begin, end, 1, from, to);
  }
  BARRIER
  end_gradients(w, thread, threads);
}

// The arrays of a walk over edges.
static void begin_edges(struct own_walk *own, const struct walk *given, int backward) {
  begin_walk(own, given, backward);
  struct walk *w = &own->walk;
  for (int part = 0; part < w->num_parts && backward; part++) {
    const int64_t num_edges = w->first_edge[w->num_nodes - w->num_sources];
    w->messages[part] = take(&own->workspace, num_edges * w->size);
  }
  begin_scratch(own, divide_edges(w, backward, 0).total);
}

void edges_sizes(struct walk *w, int backward) { tell_sizes(w, begin_edges, backward); }

void edges_forward(const struct walk *w) { run_walk(w, begin_edges, edges_forward_by, 0); }

void edges_backward(const struct walk *w) { run_walk(w, begin_edges, edges_backward_by, 1); }
