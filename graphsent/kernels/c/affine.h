// The linear map before `start`, by blocks of rows: functions on struct affine of library.h.

// Takes the arrays of a map from an arena.
static void begin_affine(struct affine *a, struct arena *arena, int backward, int64_t threads) {
  a->block = smaller(rows_in_cache(a->in_feats + a->columns), larger(a->num_rows, 1));
  a->stride = backward ? scratch_for_transposed(a->in_feats)
                       : a->block * padded(a->columns) + PANEL * a->in_feats;
  a->scratch = take(arena, threads * a->stride);
  if (backward) {
    a->packed = take(arena, a->columns * padded(a->in_feats));
  } else if (a->num_rows > threads * a->block) {
    a->packed = take(arena, a->in_feats * padded(a->columns));
  }
}

static void pack_affine(const struct affine *a, int64_t thread, int64_t threads) {
  if (!a->packed) return;
  pack_transposed(a->weight, a->in_feats, a->in_feats, a->columns, a->packed, thread, threads);
}

// The sums of some rows, padded(columns) numbers each, in the scratch memory of a thread.
static const real *affine_rows(const struct affine *a, int64_t first, int64_t count,
                               int64_t thread) {
  const int64_t width = padded(a->columns), depth = a->in_feats;
  const real *inputs = a->inputs + first * depth;
  real *sums = a->scratch + thread * a->stride;
  for (int64_t n = 0; n < count; n++) memcpy(sums + n * width, a->bias, a->columns * sizeof(real));
  if (a->packed) {
    const struct sums to = {sums, width, NULL, 0, 1};
    multiply_into(inputs, depth, count, a->packed, depth, a->columns, to);
  } else {
    real *panel = sums + a->block * width;
    for (int64_t j = 0; j < width; j += PANEL) {
      const struct sums some = {sums + j, width, NULL, 0, 1};
      pack_panel(a->weight, depth, depth, a->columns, j / PANEL, panel);
      multiply_into(inputs, depth, count, panel, depth, PANEL, some);
    }
  }
  return sums;
}

// The requested gradients, from those of all sums.
static void affine_gradients(const struct affine *a, const real *dsums, int64_t thread,
                             int64_t threads) {
  const int64_t depth = a->in_feats, columns = a->columns;
  if (a->dinputs) {
    pack(a->weight, depth, columns, depth, a->packed, thread, threads);
    BARRIER
    const int64_t last = share(0, a->num_rows, thread + 1, threads);
    for (int64_t n = share(0, a->num_rows, thread, threads); n < last; n += a->block) {
      multiply_into(dsums + n * columns, columns, smaller(a->block, last - n), a->packed, columns,
                    depth, (struct sums){a->dinputs + n * depth, depth, NULL, 0, 0});
    }
  }
  if (a->dweight) {
    const struct rows rows = {dsums, columns, NULL, NULL}, others = {a->inputs, depth, NULL, NULL};
    multiply_transposed(rows, columns, others, depth, a->num_rows,
                        (struct sums){a->dweight, depth, NULL, 0, 0},
                        a->scratch + thread * a->stride, thread, threads);
    const int64_t from = share(columns, a->num_outputs, thread, threads);
    const int64_t to = share(columns, a->num_outputs, thread + 1, threads);
    memset(a->dweight + from * depth, 0, (to - from) * depth * sizeof(real));
  }
  if (a->dbias) {
    const int64_t from = share(0, columns, thread, threads);
    const int64_t to = share(0, columns, thread + 1, threads);
    memset(a->dbias + from, 0, (to - from) * sizeof(real));
    for (int64_t n = 0; n < a->num_rows; n++) add(a->dbias, dsums + n * columns, from, to);
    if (thread == 0) memset(a->dbias + columns, 0, (a->num_outputs - columns) * sizeof(real));
  }
}
