// What the walks over the levels of a schedule work on; compiled_walk.py has the same structure.

// Rules of the walk over slots, as in compiled_slots.py.
enum { NARY, PEEPHOLE, MIXTURE, SQUASH, COMPOSITION, LSTM, GRU };

struct walk {
  // What the cell is like; `forgets` are the forget gates of one with peepholes, 0 without.
  int64_t rule, has_output, attentive, forgets;
  int64_t single_successor;  // whether no node sends to several
  // Parts of a state: h, or h and c. Their size, slots and gates a node, and how many of these see
  // h in the slots, the first ones; 0 as stride of inputs: one row for all nodes. Numbers in all
  // inputs.
  int64_t num_parts, size, count, num_gates, num_recurrent, input_stride, inputs_size;
  int64_t num_levels, num_sources, num_starts, num_nodes, num_threads;
  int64_t start_gates;                 // of which the walk makes the start; 0 where it is given
  int64_t start_feats, start_outputs;  // of the linear map that makes the sums of these gates, its
                                       // sizes; 0 where the sums are given
  int64_t keep;  // whether a backward pass follows, which needs what is in `block`
  int64_t block_size, places_size, workspace_size;  // numbers in them, see begin_walk
  // Inner nodes, those that are not sources, are rows 0, 1, ... in the order of their positions.
  const int64_t *level_ends;  // (1 + num_levels) position behind the last one of each level, that
                              // of the sources first
  const int64_t *source;      // (inner * count) position of the node in each slot, or num_nodes;
                              // (edges) position of the node that each edge comes from
  const int64_t *first_edge;  // (inner + 1) the edges to a row, one at least, begin here
  const int64_t *leaves;      // (num_sources) their rows in start; their own where NULL
  const int64_t *input_rows;  // (inner) their rows in inputs; their own where NULL
  const int64_t *nodes;       // (num_nodes) the rows of results; those of states where NULL
  const int64_t *input_of;  // (gates) which block of the inputs enters each gate, -1 for none: each
                            // block enters one, or gates of a node that are side by side
  const real *inputs, *bias,
      *weight;  // (inner or 1, blocks * size), (gates * size) or NULL, packed
  const real *more_weights[2], *vector;  // of nodes, where `weight` is that of edges; of peepholes
  const real *start_sums;                // (num_starts, start_gates * size)
  const real *start_inputs, *start_weight,
      *start_bias;       // (num_starts, feats), (outputs, feats), (outputs)
  const real *start[2];  // (num_starts, size)
  real *states[2];       // (num_nodes, size); see begin_states
  real *results[2];      // (num_nodes, size), with `nodes`: those that are wanted
  real *gates, *kept;    // of inner nodes
  real *gathered;        // h at edges
  real *edge_gates, *attention, *pooled[2];
  // Gradients: of the results, or NULL; of the states; and the wanted ones, to be filled, of which
  // the walk over slots can do without those of the start and of the bias. There, rows for pairs
  // come after those of nodes in `dsums`.
  const real *dresults[2];
  real *dstates[2], *dstart_sums, *dstart_inputs, *dstart_weight, *dstart_bias, *dstart[2], *dsums;
  real *dinputs, *dbias, *dweight, *dmore_weights[2];
  real *dedge_sums, *dscores, *messages[2];
  real *block;           // what is known of the forward pass in the backward pass
  int64_t *places;       // the same of the walk over slots, see places.h
  real *workspace;       // what is needed for the time of one of them
  int64_t *seen;         // see places.h, too
  struct leaves *first;  // what makes the start, and its gradients, or NULL
};

// A walk with its own arrays, those in the block and in the workspace.
struct own_walk {
  struct walk walk;
  struct leaves first;
  struct affine affine;
  struct room block, workspace;
};

// What makes the start of sums, and the sums of inputs, where the walk does that.
static void begin_start(struct own_walk *own, struct room *block, int backward) {
  struct walk *w = &own->walk;
  struct leaves *first = &own->first;
  const int64_t size = w->num_starts * w->size;
  const int backwards = w->dstart_sums || w->dstart_inputs || w->dstart_weight || w->dstart_bias;
  *first = (struct leaves){.has_output = w->start_gates - 2, .size = w->size};
  first->num_rows = w->num_starts;
  first->sums = w->start_sums;
  first->gates = w->keep ? take(block, w->start_gates * size) : NULL;
  first->kept = w->keep ? take(block, size) : NULL;
  for (int part = 0; part < 2; part++) {
    w->start[part] = first->states[part] = take(block, size);
    if (!backwards) continue;
    w->dstart[part] = take(&own->workspace, size);
    first->dstates[part] = w->dstart[part];
  }
  w->first = first;
  if (w->start_feats) {
    own->affine = (struct affine){
        .in_feats = w->start_feats,
        .num_rows = w->num_starts,
        .columns = w->start_gates * w->size,
        .num_outputs = w->start_outputs,
        .inputs = w->start_inputs,
        .weight = w->start_weight,
        .bias = w->start_bias,
        .dinputs = w->dstart_inputs,
        .dweight = w->dstart_weight,
        .dbias = w->dstart_bias,
    };
    first->affine = &own->affine;
    begin_affine(&own->affine, &own->workspace, backward, w->num_threads);
    if (backwards) w->dstart_sums = take(&own->workspace, w->start_gates * size);
  }
  first->dsums = w->dstart_sums;
}

// The arrays that all walks have. Where no backward pass follows, all are in the workspace.
static void begin_walk(struct own_walk *own, const struct walk *given, int backward) {
  struct walk *w = &own->walk;
  *w = *given;
  own->block.begin = w->keep ? (char *)w->block : NULL;
  own->workspace.begin = (char *)w->workspace;
  struct room *block = w->keep ? &own->block : &own->workspace;
  for (int part = 0; part < w->num_parts && w->nodes; part++) {
    w->states[part] = take(block, w->num_nodes * w->size);
  }
  if (w->start_gates) begin_start(own, block, backward);
  for (int part = 0; part < w->num_parts && backward; part++) {
    w->dstates[part] = take(&own->workspace, w->num_nodes * w->size);
  }
}

// The rest of the workspace is scratch, of so many numbers.
static void begin_scratch(struct own_walk *own, int64_t size) {
  own->walk.workspace = take(&own->workspace, size);
}

static void end_walk(const struct own_walk *own) {
  leave_room(&own->block);
  leave_room(&own->workspace);
}

// Finds the arrays of a kind of walks.
typedef void find_arrays(struct own_walk *own, const struct walk *given, int backward);

// Tells how much memory a walk takes.
static void tell_sizes(struct walk *w, find_arrays *begin, int backward) {
  struct own_walk own = {0};
  w->workspace = NULL;
  begin(&own, w, backward);
  w->block_size = numbers_in(&own.block);
  w->places_size = own.walk.places_size;
  w->workspace_size = numbers_in(&own.workspace);
  end_walk(&own);
}

// Runs what the threads of a walk do.
static void run_walk(const struct walk *given, find_arrays *begin,
                     void (*work)(const struct walk *, int64_t, int64_t), int backward) {
  struct own_walk own = {0};
  begin(&own, given, backward);
  const struct walk *w = &own.walk;
  IN_TEAM(work, w);
  end_walk(&own);
}

// The first row of a level above the sources; behind the last level, the number of rows.
static inline int64_t first_row(const struct walk *w, int64_t level) {
  return w->level_ends[level] - w->num_sources;
}

static inline int64_t place_of_leaf(const struct walk *w, int64_t position) {
  return (w->leaves ? w->leaves[position] : position) * w->size;
}

static inline int64_t place_of_input(const struct walk *w, int64_t row) {
  return (w->input_rows ? w->input_rows[row] : row) * w->input_stride;
}

// A part of the state of the node at a position.
static inline const real *state_at(const struct walk *w, int part, int64_t position) {
  if (position < w->num_sources) return w->start[part] + place_of_leaf(w, position);
  return w->states[part] + position * w->size;
}

static inline real *gradient_at(const struct walk *w, int part, int64_t position) {
  if (position < w->num_sources) return w->dstart[part] + place_of_leaf(w, position);
  return w->dstates[part] + position * w->size;
}

// The part of the states that gates let through: c where there is one, else h.
static inline int memory_part(const struct walk *w) { return w->num_parts - 1; }

// The states of the first level; those of the walk have them only if they are the results. There
// is room for four times the size of a state at `unused`.
static void begin_states(const struct walk *w, real *unused, int64_t thread, int64_t threads) {
  if (w->first) {
    if (w->first->affine) {
      pack_affine(w->first->affine, thread, threads);
      BARRIER
    }
    make_leaves(w->first, unused, thread, threads);
    BARRIER
  }
  if (w->nodes) return;
  const int64_t last = share(0, w->num_sources, thread + 1, threads);
  for (int64_t p = share(0, w->num_sources, thread, threads); p < last; p++) {
    for (int part = 0; part < w->num_parts; part++) {
      memcpy(w->states[part] + p * w->size, state_at(w, part, p), w->size * sizeof(real));
    }
  }
}

// Copies the states to the results.
static void end_states(const struct walk *w, int64_t thread, int64_t threads) {
  if (!w->nodes) return;
  BARRIER
  const int64_t last = share(0, w->num_nodes, thread + 1, threads);
  for (int64_t p = share(0, w->num_nodes, thread, threads); p < last; p++) {
    for (int part = 0; part < w->num_parts && w->results[part]; part++) {
      memcpy(w->results[part] + w->nodes[p] * w->size, state_at(w, part, p),
             w->size * sizeof(real));
    }
  }
}

// What the result at a position has got of a part of the gradients, or NULL.
static inline const real *given_at(const struct walk *w, int part, int64_t position) {
  if (!w->dresults[part]) return NULL;
  return w->dresults[part] + (w->nodes ? w->nodes[position] : position) * w->size;
}

// The gradients of the inputs, before anything is added to them.
static void begin_inputs(const struct walk *w, int64_t thread, int64_t threads) {
  const int64_t from = share(0, w->inputs_size, thread, threads);
  const int64_t to = share(0, w->inputs_size, thread + 1, threads);
  memset(w->dinputs + from, 0, (to - from) * sizeof(real));
}

// The gradients of the states, as far as they do not come from other states.
static void begin_gradients(const struct walk *w, int64_t thread, int64_t threads) {
  const int64_t size = w->size, inner = w->num_nodes - w->num_sources;
  const int64_t from = share(0, size, thread, threads), to = share(0, size, thread + 1, threads);
  const int64_t begin = w->num_sources + share(0, inner, thread, threads);
  const int64_t end = w->num_sources + share(0, inner, thread + 1, threads);
  for (int part = 0; part < w->num_parts; part++) {
    for (int64_t row = 0; row < w->num_starts && w->dstart[part]; row++) {
      memset(w->dstart[part] + row * size + from, 0, (to - from) * sizeof(real));
    }
    for (int64_t p = begin; p < end; p++) {
      const real *given = given_at(w, part, p);
      if (given) {
        memcpy(gradient_at(w, part, p), given, size * sizeof(real));
      } else {
        memset(gradient_at(w, part, p), 0, size * sizeof(real));
      }
    }
    if (!w->dresults[part] || !w->dstart[part]) continue;
    for (int64_t p = 0; p < w->num_sources; p++) {  // several may have one row
      add(gradient_at(w, part, p), given_at(w, part, p), from, to);
    }
  }
}

// The gradients of what start is made of, from those of start; the whole team has them.
static void end_gradients(const struct walk *w, int64_t thread, int64_t threads) {
  if (!w->dstart_sums) return;
  leaves_backward_by(w->first, thread, threads);
  if (!w->first->affine) return;
  BARRIER
  affine_gradients(w->first->affine, w->dstart_sums, thread, threads);
}
