// A linear map of rows, outside walks: sums = inputs @ weight.T + bias.

struct linear {
  int64_t num_rows, in_feats, columns, num_threads;
  const real *inputs, *weight, *bias;  // the bias may be NULL
  real *sums;                          // (num_rows, columns); gradients in the backward pass
  real *dinputs, *dweight, *dbias;     // NULL if not requested
  real *workspace;                     // linear_numbers() numbers
};

static struct affine affine_of(const struct linear *l, struct arena *arena) {
  struct affine a = {.in_feats = l->in_feats,
                     .num_rows = l->num_rows,
                     .columns = l->columns,
                     .num_outputs = l->columns,
                     .inputs = l->inputs,
                     .weight = l->weight,
                     .dinputs = l->dinputs,
                     .dweight = l->dweight,
                     .dbias = l->dbias};
  begin_affine(&a, arena, 1, l->num_threads);
  return a;
}

int64_t linear_numbers(const struct linear *l, int64_t backward) {
  if (!backward) return l->in_feats * padded(l->columns);
  struct arena arena = {0};
  affine_of(l, &arena);
  return numbers_in(&arena);
}

// Each thread computes some columns of all rows, by blocks of rows that stay in the cache.
static void linear_forward_by(const struct linear *l, int64_t thread, int64_t threads) {
  const int64_t depth = l->in_feats, columns = l->columns, panels = padded(columns) / PANEL;
  const int64_t first = share(0, panels, thread, threads) * PANEL;
  const int64_t width = smaller(columns, share(0, panels, thread + 1, threads) * PANEL) - first;
  real *packed = l->workspace + first * depth;
  pack_transposed(l->weight, depth, depth, columns, l->workspace, thread, threads);
  for (int64_t n = 0, count; n < l->num_rows; n += count) {
    count = smaller(l->num_rows - n, rows_in_cache(depth));
    const struct sums to = {l->sums + n * columns + first, columns, NULL, 0, l->bias != NULL};
    for (int64_t row = 0; row < count && l->bias; row++) {
      memcpy(to.matrix + row * columns, l->bias + first, width * sizeof(real));
    }
    multiply_into(l->inputs + n * depth, depth, count, packed, depth, width, to);
  }
}

static void linear_backward_by(const struct linear *l, int64_t thread, int64_t threads) {
  struct arena arena = {(char *)l->workspace, 0};
  const struct affine a = affine_of(l, &arena);
  affine_gradients(&a, l->sums, thread, threads);
}

void linear_forward(const struct linear *w) { IN_TEAM(linear_forward_by, w); }

void linear_backward(const struct linear *w) { IN_TEAM(linear_backward_by, w); }
