// The states of nodes without predecessors, from rows of inputs.

struct leaves {
  int64_t has_output, size, in_size, num_rows, num_threads;
  const real *rows, *weight, *bias;  // (num_rows, in_size), (gates * size, in_size), (gates * size)
  real *states[2];                   // (num_rows, size)
  real *gates, *kept;                // NULL if no backward pass follows
  // Gradients; those of the states NULL where there is none, drows where it is not wanted.
  const real *dstates[2];
  real *dsums, *drows, *dweight, *dbias;
  real *workspace;
};

// As for slots.
struct leaves_run {
  int64_t gates, block;
  real *packed, *scratch;
  int64_t sums, stride, total;
};

static struct leaves_run divide_leaves(const struct leaves *l, int backward, int64_t thread) {
  struct leaves_run r = {.gates = (2 + l->has_output) * l->size};
  const int64_t depth = backward ? r.gates : l->in_size, columns = backward ? l->in_size : r.gates;
  r.block = (CACHE / (depth + columns) / TILE_ROWS + 1) * TILE_ROWS;
  if (r.block > l->num_rows) r.block = l->num_rows;
  r.sums = r.block * padded(columns);  // then gates and tanh(c) where they are not kept
  r.stride = r.sums + r.gates + l->size;
  if (backward && r.stride < scratch_for_transposed(l->in_size)) {
    r.stride = scratch_for_transposed(l->in_size);
  }
  r.packed = l->workspace;
  r.scratch = r.packed + depth * padded(columns) + thread * r.stride;
  r.total = depth * padded(columns) + l->num_threads * r.stride;
  return r;
}

static void leaves_forward_by(const struct leaves *l, int64_t thread, int64_t threads) {
  const struct leaves_run r = divide_leaves(l, 0, thread);
  const int64_t size = l->size, last = share(0, l->num_rows, thread + 1, threads);
  real *unused = r.scratch + r.sums;
  pack(l->weight, 1, l->in_size, l->in_size, r.gates, r.packed, thread, threads);
  BARRIER
  for (int64_t first = share(0, l->num_rows, thread, threads); first < last; first += r.block) {
    const int64_t end = smaller(first + r.block, last);
    real *sums = r.scratch;
    multiply(l->rows + first * l->in_size, l->in_size, end - first, r.packed, l->in_size, r.gates,
             sums);
    for (int64_t row = first; row < end; row++, sums += padded(r.gates)) {
      real *const state[] = {l->states[0] + row * size, l->states[1] + row * size};
      add(sums, l->bias, 0, r.gates);
      nary(l->has_output, size, 0, sums, NULL, l->gates ? l->gates + row * r.gates : unused,
           l->kept ? l->kept + row * size : unused + r.gates, state);
    }
  }
}

static void leaves_backward_by(const struct leaves *l, int64_t thread, int64_t threads) {
  const struct leaves_run r = divide_leaves(l, 1, thread);
  const int64_t size = l->size, last = share(0, l->num_rows, thread + 1, threads);
  if (l->drows) pack(l->weight, l->in_size, 1, r.gates, l->in_size, r.packed, thread, threads);
  BARRIER
  for (int64_t first = share(0, l->num_rows, thread, threads); first < last; first += r.block) {
    const int64_t end = smaller(first + r.block, last);
    for (int64_t row = first; row < end; row++) {
      const real *const dstate[] = {l->dstates[0] + row * size, l->dstates[1] + row * size};
      nary_gradient(l->has_output, size, 0, l->gates + row * r.gates, NULL, l->kept + row * size,
                    dstate, l->dsums + row * r.gates, NULL);
    }
    if (!l->drows) continue;
    multiply(l->dsums + first * r.gates, r.gates, end - first, r.packed, r.gates, l->in_size,
             r.scratch);
    for (int64_t row = first; row < end; row++) {
      memcpy(l->drows + row * l->in_size, r.scratch + (row - first) * padded(l->in_size),
             l->in_size * sizeof(real));
    }
  }
  BARRIER
  const int64_t from = share(0, r.gates, thread, threads);
  const int64_t to = share(0, r.gates, thread + 1, threads);
  for (int64_t row = 0; row < l->num_rows; row++) {
    add(l->dbias, l->dsums + row * r.gates, from, to);
  }
  multiply_transposed(l->dsums, r.gates, l->rows, l->in_size, l->num_rows, l->dweight, r.scratch,
                      thread, threads);
}

int64_t leaves_workspace(const struct leaves *l, int backward) {
  return divide_leaves(l, backward, 0).total;
}

void leaves_forward(const struct leaves *w) { IN_TEAM(leaves_forward_by, w); }

void leaves_backward(const struct leaves *w) { IN_TEAM(leaves_backward_by, w); }
