// The memory of a generated walk. Macros list its arrays and their sizes: WHOLE, of both passes;
// KEPT, of all nodes if a backward pass follows, otherwise of a block, the second size; FORWARD and
// BACKWARD, of one pass; FORWARD_BLOCK and BACKWARD_BLOCK, of a thread in one pass.

// The state of a thread in a walk.
struct own {
  struct walk walk;
  struct arena kept_arena, work_arena, place_arena;
  int64_t thread, threads, inner, num_sources, num_rows, block, edge_block;
  int64_t first_edge, last_edge;  // the edges to a block of nodes
  int64_t accumulated;  // the number of rows in `acc` that are not yet added to `all_acc`
  struct places places;
  int64_t *rows, *target;     // the state seen by an edge or slot; the node of an edge
  int64_t *out_first, *out;   // (num_rows + 3), and the edges or slots that see each state
  real *state[PARTS], *dstate[PARTS];
  struct linear linear;
  real *projected, *dprojected;
  real *acc, *all_acc, *copied, *turned;
#define FIELD(name, ...) real *name;
  WHOLE(FIELD) KEPT(FIELD) FORWARD(FIELD) BACKWARD(FIELD) FORWARD_BLOCK(FIELD) BACKWARD_BLOCK(FIELD)
#undef FIELD
};

#define TAKE(name, numbers) s->name = take(arena, numbers);
// An array of the same size for each thread.
#define TAKE_OWN(name, numbers)           \
  {                                       \
    real *here = take(work, numbers);     \
    if (n == s->thread) s->name = here;   \
  }
#define TAKE_KEPT(name, numbers, block) \
  if (w->keep) s->name = take(kept, numbers);
#define TAKE_UNKEPT(name, numbers, block) \
  if (!w->keep) TAKE_OWN(name, block)

// Chooses the number of nodes per block.
static void choose_block(struct own *s) {
  const int64_t *edges = s->walk.first_edge;
  s->block = s->edge_block = rows_in_cache(NUMBERS_A_NODE);
  for (int64_t r = 0; edges && r < s->inner; r++) {
    s->edge_block = larger(s->edge_block, edges[r + 1] - edges[r]);
  }
}

static void take_projection(struct own *s, struct arena *kept, int backward) {
  s->linear = *s->walk.projection;
  const int64_t numbers = s->linear.num_rows * s->linear.num_outputs;
  s->projected = take(kept, numbers);
  if (backward) s->dprojected = take(&s->work_arena, numbers);
  s->linear.sums = backward ? s->dprojected : s->projected;
  s->linear.workspace = take(&s->work_arena, library->linear_numbers(&s->linear, backward));
}

// Divides the memory into arrays, or computes its size.
static void divide(struct own *s, const struct walk *given, int64_t thread, int64_t threads,
                   int backward) {
  *s = (struct own){.walk = *given, .thread = thread, .threads = threads};
  struct walk *w = &s->walk;
  s->inner = w->num_nodes - w->num_leaves;
  s->num_rows = w->num_starts + s->inner;
  s->kept_arena.begin = (char *)w->kept;
  s->work_arena.begin = (char *)w->workspace;
  s->place_arena.begin = (char *)w->places;
  struct arena *work = &s->work_arena, *kept = w->keep ? &s->kept_arena : work, *arena = kept;
  choose_block(s);
  s->num_sources = COUNT ? s->inner * COUNT : w->num_edges;
  s->rows = take_places(&s->place_arena, s->num_sources);
  if (COUNT) take_all(&s->places, &s->place_arena, w->num_starts, s->inner);
  if (!COUNT) s->target = take_places(&s->place_arena, s->num_sources);
  for (int part = 0; part < PARTS; part++) {
    s->state[part] = take(kept, (s->num_rows + 1) * SIZE);
  }
  if (w->projection) take_projection(s, kept, backward);
  WHOLE(TAKE)
  KEPT(TAKE_KEPT)
  arena = work;
  if (!backward) {
    FORWARD(TAKE)
    for (int64_t n = 0; n < threads; n++) {
      FORWARD_BLOCK(TAKE_OWN)
      KEPT(TAKE_UNKEPT)
      TAKE_OWN(copied, s->block * SIZE)
    }
    return;
  }
  s->out_first = take_places(work, s->num_rows + 3);
  s->out = take_places(work, s->num_sources);
  for (int part = 0; part < PARTS; part++) s->dstate[part] = take(work, s->num_rows * SIZE);
  s->all_acc = take(work, threads * ACCUMULATED);
  BACKWARD(TAKE)
  for (int64_t n = 0; n < threads; n++) {
    BACKWARD_BLOCK(TAKE_OWN)
    TAKE_OWN(acc, ACCUMULATED)
    TAKE_OWN(copied, s->block * COPIED)
    TAKE_OWN(turned, WEIGHED)
  }
}

// Finds the rows of states that nodes see; the last row is zero.
static void find_rows(struct own *s) {
  const struct walk *w = &s->walk;
  for (int part = 0; part < PARTS; part++) {
    memset(s->state[part] + s->num_rows * SIZE, 0, SIZE * sizeof(real));
  }
  for (int64_t n = 0; n < s->num_sources; n++) s->rows[n] = row_at(w, w->source[n]);
  if (COUNT) find_places(w, s->places, s->rows);
  for (int64_t r = 0; !COUNT && r < s->inner; r++) {
    for (int64_t e = w->first_edge[r]; e < w->first_edge[r + 1]; e++) s->target[e] = r;
  }
}

// Finds the nodes that see a row of states.
static void find_successors(struct own *s) {
  int64_t *rows = s->rows, *first = s->out_first;
  memset(first, 0, (s->num_rows + 3) * sizeof(int64_t));
  for (int64_t n = 0; n < s->num_sources; n++) first[rows[n] + 2]++;
  for (int64_t row = 0; row <= s->num_rows; row++) first[row + 2] += first[row + 1];
  for (int64_t n = 0; n < s->num_sources; n++) s->out[first[rows[n] + 1]++] = n;
}
