// The states of nodes without predecessors, from the sums of their gates, given or to be made.

struct leaves {
  int64_t has_output, size, num_rows, num_threads;
  const real *sums;    // (num_rows, gates * size), where they are given
  real *states[2];     // (num_rows, size)
  real *gates, *kept;  // NULL if no gradients are wanted
  const real *dstates[2];
  real *dsums;
  real *workspace;              // `unused` of each thread
  const struct affine *affine;  // what makes the sums, or NULL
};

// `unused` has room for the gates and tanh(c) of one node.
static void make_leaves(const struct leaves *l, real *unused, int64_t thread, int64_t threads) {
  const int64_t size = l->size, gates = (2 + l->has_output) * size;
  const int64_t last = share(0, l->num_rows, thread + 1, threads);
  const int64_t width = l->affine ? padded(gates) : gates;
  for (int64_t row = share(0, l->num_rows, thread, threads), end; row < last; row = end) {
    end = l->affine ? smaller(row + l->affine->block, last) : last;
    const real *sums =
        l->affine ? affine_rows(l->affine, row, end - row, thread) : l->sums + row * gates;
    for (int64_t n = row; n < end; n++, sums += width) {
      real *const state[] = {l->states[0] + n * size, l->states[1] + n * size};
      nary(l->has_output, size, 0, sums, NULL, l->gates ? l->gates + n * gates : unused,
           l->kept ? l->kept + n * size : unused + gates, state);
    }
  }
}

static void leaves_forward_by(const struct leaves *l, int64_t thread, int64_t threads) {
  make_leaves(l, l->workspace + thread * (3 + l->has_output) * l->size, thread, threads);
}

static void leaves_backward_by(const struct leaves *l, int64_t thread, int64_t threads) {
  const int64_t size = l->size, gates = (2 + l->has_output) * size;
  const int64_t last = share(0, l->num_rows, thread + 1, threads);
  for (int64_t row = share(0, l->num_rows, thread, threads); row < last; row++) {
    const real *const dstate[] = {l->dstates[0] + row * size, l->dstates[1] + row * size};
    nary_gradient(l->has_output, size, 0, l->gates + row * gates, NULL, l->kept + row * size,
                  dstate, l->dsums + row * gates, NULL);
  }
}

void leaves_forward(const struct leaves *w) { IN_TEAM(leaves_forward_by, w); }

void leaves_backward(const struct leaves *w) { IN_TEAM(leaves_backward_by, w); }
