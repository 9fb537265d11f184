// The loop of a walk over levels; the functions for blocks of rows are generated.

// Begins a block of at least one row; returns the row after it.
static int64_t begin_block(struct own *s, int64_t first, int64_t last) {
  const int64_t *edges = s->walk.first_edge;
  int64_t row = first + 1;
  last = smaller(last, first + s->block);
  if (!edges) return last;
  while (row < last && edges[row + 1] - edges[first] <= s->edge_block) row++;
  s->first_edge = edges[first];
  s->last_edge = edges[row];
  return row;
}

static void forward_by(const struct walk *given, int64_t thread, int64_t threads) {
  struct own own, *s = &own;
  divide(s, given, thread, threads, 0);
  const struct walk *w = &s->walk;
  if (thread == 0) find_rows(s);
  pack_forward(s);
  if (w->projection) library->linear_forward_by(&s->linear, thread, threads);
  BARRIER
  const int64_t end = share(0, w->num_starts, thread + 1, threads);
  for (int64_t row = share(0, w->num_starts, thread, threads); row < end; row += s->block) {
    const int64_t next = smaller(row + s->block, end);
    start_forward(s, row, next);
    sources_forward(s, row, next);
  }
  pairs_forward(s);
  for (int64_t level = 0; level < w->num_levels; level++) {
    const int64_t begin = first_row(w, level), behind = first_row(w, level + 1);
    const int64_t last = share(begin, behind, thread + 1, threads);
    BARRIER
    for (int64_t row = share(begin, behind, thread, threads), next; row < last; row = next) {
      next = begin_block(s, row, last);
      nodes_forward(s, row, next);
      sources_forward(s, w->num_starts + row, w->num_starts + next);
    }
  }
  BARRIER
  for (int part = 0; part < PARTS; part++) {
    give_results(w, part, s->state[part], SIZE, thread, threads);
  }
}

// Adds what was accumulated over some rows to the sums of a thread, over many rows at a time.
static void settle(struct own *s, int64_t rows) {
  s->accumulated += rows;
  if (s->accumulated < SUMMED_AT_ONCE) return;
  add(s->all_acc + s->thread * ACCUMULATED, s->acc, 0, ACCUMULATED);
  memset(s->acc, 0, ACCUMULATED * sizeof(real));
  s->accumulated = 0;
}

static void backward_by(const struct walk *given, int64_t thread, int64_t threads) {
  struct own own, *s = &own;
  divide(s, given, thread, threads, 1);
  const struct walk *w = &s->walk;
  pack_backward(s);
  if (thread == 0) find_successors(s);
  memset(s->acc, 0, ACCUMULATED * sizeof(real));
  memset(s->all_acc + thread * ACCUMULATED, 0, ACCUMULATED * sizeof(real));
  for (int64_t level = w->num_levels - 1; level >= 0; level--) {
    const int64_t begin = first_row(w, level), behind = first_row(w, level + 1);
    const int64_t last = share(begin, behind, thread + 1, threads);
    BARRIER
    for (int64_t row = share(begin, behind, thread, threads), next; row < last; row = next) {
      next = begin_block(s, row, last);
      sources_backward(s, w->num_starts + row, w->num_starts + next);
      nodes_backward(s, row, next);
      settle(s, next - row);
    }
  }
  BARRIER
  const int64_t first = share(0, w->num_starts, thread, threads);
  const int64_t end = share(0, w->num_starts, thread + 1, threads);
  for (int64_t row = first; row < end; row += s->block) {
    starts_backward(s, row, smaller(row + s->block, end));
    settle(s, s->block);
  }
  pairs_backward(s);
  BARRIER
  for (int part = 0; part < PARTS; part++) {
    add_gradients(w, part, s->dstate[part], SIZE, thread, threads);
  }
  BARRIER
  for (int64_t row = first; row < end; row += s->block) {
    start_backward(s, row, smaller(row + s->block, end));
    settle(s, s->block);
  }
  settle(s, SUMMED_AT_ONCE);
  BARRIER
  if (w->projection) library->linear_backward_by(&s->linear, thread, threads);
  weights_backward(s);
}

void recurrence_forward(const struct walk *w) { IN_TEAM(forward_by, w); }

void recurrence_backward(const struct walk *w) { IN_TEAM(backward_by, w); }

void recurrence_sizes(struct walk *w, int backward) {
  struct own s;
  divide(&s, w, 0, w->num_threads, backward);
  w->kept_size = s.kept_arena.used / sizeof(real);
  w->workspace_size = s.work_arena.used / sizeof(real);
  w->places_size = s.place_arena.used / sizeof(int64_t);
}
