// Matrix products with a packed matrix: a tile of sums stays in registers while a panel streams by.

// Packs the panels from `begin` to `end` of `depth` rows, starting at row `first`. Rows are
// prefetched, because the processor cannot predict which come next.
static void pack_rows(const struct rows *rows, int64_t first, int64_t depth, int64_t columns,
                      real *packed, int64_t begin, int64_t end) {
  for (int64_t k = 0; k < depth; k++) {
    const real *from = row_of(rows, first + k);
    const real *soon = row_of(rows, first + smaller(k + 4, depth - 1));
    for (int64_t panel = begin; panel < end; panel++) {
      const int64_t width = smaller(columns - panel * PANEL, PANEL);
      real *to = packed + (panel * depth + k) * PANEL;
      __builtin_prefetch(soon + panel * PANEL);
      if (width == PANEL) {
        memcpy(to, from + panel * PANEL, PANEL * sizeof(real));
      } else {
        memset(to, 0, PANEL * sizeof(real));
        memcpy(to, from + panel * PANEL, width * sizeof(real));
      }
    }
  }
}

// Packs one part of the panels of a matrix, (depth, columns).
static void pack(const real *matrix, int64_t stride, int64_t depth, int64_t columns, real *packed,
                 int64_t part, int64_t parts) {
  const struct rows rows = {matrix, stride, NULL};
  const int64_t panels = padded(columns) / PANEL;
  pack_rows(&rows, 0, depth, columns, packed, share(0, panels, part, parts),
            share(0, panels, part + 1, parts));
}

// Prefetches the next rows, at most PANEL, which the processor does not do by itself.
static inline void fetch(const real *from, int64_t stride, int64_t num_rows) {
  for (int i = 0; i < smaller(PANEL, num_rows); i++) __builtin_prefetch(from + i * stride);
}

// Packs a panel of a matrix that is given as its transpose, (columns, depth).
static void pack_panel(const real *matrix, int64_t stride, int64_t depth, int64_t columns,
                       int64_t panel, real *to) {
  const real *from = matrix + panel * PANEL * stride;
  const int64_t left = columns - (panel + 1) * PANEL, width = smaller(left + PANEL, PANEL);
  if (width < PANEL) memset(to, 0, PANEL * depth * sizeof(real));
  int64_t k = 0;
  for (; width == PANEL && k + LANES <= depth; k += LANES) {
    if (k % PANEL == 0) fetch(from + PANEL * stride + k, stride, left);
    transpose(from + k, stride, to + k * PANEL, PANEL);
    transpose(from + LANES * stride + k, stride, to + k * PANEL + LANES, PANEL);
  }
  for (; k < depth; k++) {
    for (int64_t j = 0; j < width; j++) to[k * PANEL + j] = from[j * stride + k];
  }
}

// Packs one part of the panels of such a matrix.
static void pack_transposed(const real *matrix, int64_t stride, int64_t depth, int64_t columns,
                            real *packed, int64_t part, int64_t parts) {
  const int64_t panels = padded(columns) / PANEL, last = share(0, panels, part + 1, parts);
  for (int64_t panel = share(0, panels, part, parts); panel < last; panel++) {
    pack_panel(matrix, stride, depth, columns, panel, packed + panel * PANEL * depth);
  }
}

// Copies `width` columns of rows, in blocks of TILE_ROWS columns, one per tile. Rows are prefetched
// as by pack_rows.
static void turn_rows(const struct rows *rows, int64_t first, int64_t depth, int64_t column,
                      int64_t width, real *to) {
  for (int64_t k = 0; k < depth; k++, to += TILE_ROWS) {
    const real *from = row_of(rows, first + k) + column;
    const real *soon = row_of(rows, first + smaller(k + 4, depth - 1)) + column;
    for (int64_t at = 0; at < width; at += LANES) __builtin_prefetch(soon + at);
    int64_t j = 0;
    for (; j + TILE_ROWS <= width; j += TILE_ROWS) {
      memcpy(to + j * depth, from + j, TILE_ROWS * sizeof(real));
    }
    memcpy(to + j * depth, from + j, (width - j) * sizeof(real));
  }
}

// The work of `count` tiles, one below the other: sums = rows @ panel. Rows have stride `across`,
// the numbers of a row stride `along`.
struct tile {
  const real *rows;
  int64_t across, along;
  const real *panel;
  int64_t depth;
  struct sums to;
  int64_t count;
};

// If rows are few, each has SPLIT independent sums, of every SPLIT-th product, to hide latency. A
// half tile computes only the first LANES columns of its panel.
#define TILE(ROWS, SPLIT)             \
  TILE_OF(half##ROWS, 0, ROWS, SPLIT) \
  TILE_OF(tile##ROWS, 1, ROWS, SPLIT)

#define TILE_OF(NAME, WHOLE, ROWS, SPLIT)                                         \
  static void NAME(const struct tile *t) {                                        \
    const int64_t across = t->across, along = t->along, depth = t->depth;         \
    for (int64_t n = 0; n < t->count * ROWS; n += ROWS) {                         \
      const real *restrict at = t->rows + n * across, *restrict panel = t->panel; \
      vec left[SPLIT][ROWS], right[SPLIT][ROWS];                                  \
      UNROLL for (int s = 0; s < SPLIT; s++) {                                    \
        UNROLL for (int i = 0; i < ROWS; i++) left[s][i] = right[s][i] = all(0);  \
      }                                                                           \
      int64_t k = 0;                                                              \
      for (; k + SPLIT <= depth; k += SPLIT) {                                    \
        UNROLL for (int s = 0; s < SPLIT; s++) { TILE_STEP(WHOLE, ROWS, s) }      \
      }                                                                           \
      for (; k < depth; k++) { TILE_STEP(WHOLE, ROWS, 0) }                        \
      UNROLL for (int i = 0; i < ROWS; i++) {                                     \
        real *sums = place_of(&t->to, n + i);                                     \
        UNROLL for (int s = 1; s < SPLIT; s++) {                                  \
          left[0][i] += left[s][i];                                               \
          right[0][i] += right[s][i];                                             \
        }                                                                         \
        if (t->to.add) left[0][i] += load(sums, LANES);                           \
        store(sums, left[0][i], LANES);                                           \
        if (WHOLE && t->to.add) right[0][i] += load(sums + LANES, LANES);         \
        if (WHOLE) store(sums + LANES, right[0][i], LANES);                       \
      }                                                                           \
    }                                                                             \
  }

#define TILE_STEP(WHOLE, ROWS, s)            \
  vec a = load(panel, LANES), b = a;         \
  if (WHOLE) b = load(panel + LANES, LANES); \
  UNROLL for (int i = 0; i < ROWS; i++) {    \
    vec x = all(at[i * across]);             \
    left[s][i] += x * a;                     \
    if (WHOLE) right[s][i] += x * b;         \
  }                                          \
  at += along;                               \
  panel += PANEL;

#define TILES(DO) DO(1, 4) DO(2, 2) DO(3, 2) DO(4, 1) DO(5, 1) DO(6, 1) HIGHER_TILES(DO)
#if TILE_ROWS > 6
#define HIGHER_TILES(DO) DO(7, 1) DO(8, 1) DO(9, 1) DO(10, 1) DO(11, 1) DO(12, 1)
#else
#define HIGHER_TILES(DO)
#endif
TILES(TILE)

#define ENTRY(ROWS, SPLIT) {half##ROWS, tile##ROWS},
static void (*const tiles[][2])(const struct tile *) = {{NULL, NULL}, TILES(ENTRY)};
#undef ENTRY

// Computes the sums of tiles, of whose panel `columns` are left.
static void run_tiles(int64_t height, const struct tile *t, int64_t columns) {
  void (*const run)(const struct tile *) = tiles[height][columns > LANES];
  if (columns >= PANEL) {
    run(t);
    return;
  }
  real corner[TILE_ROWS * PANEL];
  struct tile one = *t;
  one.to = (struct sums){corner, PANEL, NULL, 0};
  one.count = 1;
  for (int64_t n = 0; n < t->count * height; n += height) {
    one.rows = t->rows + n * t->across;
    run(&one);
    for (int64_t i = 0; i < height; i++) {
      real *sums = place_of(&t->to, n + i);
      for (int64_t j = 0; j < columns; j++) {
        sums[j] = corner[i * PANEL + j] + (t->to.add ? sums[j] : 0);
      }
    }
  }
}

// sums = rows @ packed.
static void multiply_into(const real *rows, int64_t stride, int64_t num_rows, const real *packed,
                          int64_t depth, int64_t columns, struct sums to) {
  if (!num_rows) return;
  const int64_t num_tiles = (num_rows + TILE_ROWS - 1) / TILE_ROWS;
  const int64_t height = num_rows / num_tiles, taller = num_rows % num_tiles;
  const int64_t first = taller * (height + 1);
  for (int64_t j = 0; j < columns; j += PANEL, to.matrix += PANEL) {
    const real *panel = packed + j * depth;
    if (taller) {
      const struct tile t = {rows, stride, 1, panel, depth, to, taller};
      run_tiles(height + 1, &t, columns - j);
    }
    const struct tile t = {rows + first * stride, stride, 1, panel, depth, after(to, first),
                           num_tiles - taller};
    run_tiles(height, &t, columns - j);
  }
}

// One part of the rows of sums = rows.T @ others, (num_sums, columns), summed over num_rows rows, at
// least one unless the sums are added to what is there.
static void multiply_transposed(struct rows rows, int64_t num_sums, struct rows others,
                                int64_t columns, int64_t num_rows, struct sums to, real *scratch,
                                int64_t part, int64_t parts) {
  const int64_t block = CACHE / padded(columns) + 1;
  real *packed = scratch, *turned = packed + block * padded(columns);
  const int64_t begin = share(0, num_sums, part, parts), end = share(0, num_sums, part + 1, parts);
  for (int64_t row = 0; row < num_rows; row += block) {
    const int64_t depth = smaller(num_rows - row, block);
    pack_rows(&others, row, depth, columns, packed, 0, padded(columns) / PANEL);
    for (int64_t first = begin; first < end; first += TILE_ROWS) {
      const int64_t at = (first - begin) % TURNED;
      if (!at) turn_rows(&rows, row, depth, first, smaller(TURNED, end - first), turned);
      struct tile t = {turned + at * depth, 1, TILE_ROWS, packed, depth, after(to, first), 1};
      for (int64_t j = 0; j < columns; j += PANEL, t.to.matrix += PANEL) {
        t.panel = packed + j * depth;
        run_tiles(smaller(TILE_ROWS, end - first), &t, columns - j);
      }
    }
    to.add = 1;
  }
}
