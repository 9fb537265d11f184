// A linear map of rows, outside walks: sums = inputs @ weight.T + bias.

static struct affine begin_backward(const struct affine *given, struct arena *arena) {
  struct affine a = *given;
  begin_affine(&a, arena, 1, a.num_threads);
  return a;
}

int64_t linear_numbers(const struct affine *a, int64_t backward) {
  if (!backward) return a->in_feats * padded(a->columns);
  struct arena arena = {0};
  begin_backward(a, &arena);
  return numbers_in(&arena);
}

// Each thread computes some columns of all rows, by blocks of rows that stay in the cache.
static void linear_forward_by(const struct affine *a, int64_t thread, int64_t threads) {
  const int64_t depth = a->in_feats, columns = a->columns, panels = padded(columns) / PANEL;
  const int64_t first = share(0, panels, thread, threads) * PANEL;
  const int64_t width = smaller(columns, share(0, panels, thread + 1, threads) * PANEL) - first;
  real *packed = a->workspace + first * depth;
  pack_transposed(a->weight, depth, depth, columns, a->workspace, thread, threads);
  for (int64_t n = 0, count; n < a->num_rows; n += count) {
    count = smaller(a->num_rows - n, rows_in_cache(depth));
    const struct sums to = {a->sums + n * columns + first, columns, NULL, 0, a->bias != NULL};
    for (int64_t row = 0; row < count && a->bias; row++) {
      memcpy(to.matrix + row * columns, a->bias + first, width * sizeof(real));
    }
    multiply_into(a->inputs + n * depth, depth, count, packed, depth, width, to);
  }
}

static void linear_backward_by(const struct affine *given, int64_t thread, int64_t threads) {
  struct arena arena = {(char *)given->workspace, 0};
  const struct affine a = begin_backward(given, &arena);
  affine_gradients(&a, a.sums, thread, threads);
}

void linear_forward(const struct affine *w) { IN_TEAM(linear_forward_by, w); }

void linear_backward(const struct affine *w) { IN_TEAM(linear_backward_by, w); }
