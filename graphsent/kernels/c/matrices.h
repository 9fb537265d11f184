// Operands and results of matrix products. The numbers of a row are contiguous.

// A packed matrix consists of panels of PANEL columns, each with contiguous rows. The last panel is
// padded with zeros.
enum { PANEL = 2 * LANES, CACHE = (1 << 18) / sizeof(real), TURNED = 8 * TILE_ROWS };

// Sums over more rows than this are computed in parts, to limit rounding errors.
enum { SUMMED_AT_ONCE = 256 };

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static inline int64_t padded(int64_t columns) { return (columns + PANEL - 1) / PANEL * PANEL; }

// A multiple of TILE_ROWS rows whose numbers just about fill the cache.
static inline int64_t rows_in_cache(int64_t numbers_a_row) {
  return CACHE / numbers_a_row / TILE_ROWS * TILE_ROWS + TILE_ROWS;
}

// The beginning of part `part` of `parts` of a range.
static inline int64_t share(int64_t first, int64_t last, int64_t part, int64_t parts) {
  return first + (last - first) * part / parts;
}

// The same for n numbers, without dividing a vector.
static inline int64_t share_lanes(int64_t n, int64_t part, int64_t parts) {
  return smaller(n, share(0, (n + LANES - 1) / LANES, part, parts) * LANES);
}

// Some rows of a matrix: the listed ones, or the first ones.
struct rows {
  const real *matrix;
  int64_t stride;
  const int64_t *listed;
};

static inline const real *row_of(const struct rows *rows, int64_t n) {
  return rows->matrix + (rows->listed ? rows->listed[n] : n) * rows->stride;
}

// The destination of rows of sums: consecutive or listed rows, and whether they are added to what is
// there.
struct sums {
  real *matrix;
  int64_t stride;
  const int64_t *listed;
  int add;
};

static inline real *place_of(const struct sums *to, int64_t n) {
  return to->matrix + (to->listed ? to->listed[n] : n) * to->stride;
}

// The destination from the n-th row on.
static inline struct sums after(struct sums to, int64_t n) {
  if (to.listed) {
    to.listed += n;
  } else {
    to.matrix += n * to.stride;
  }
  return to;
}

// Size in numbers of the scratch memory of multiply_transposed.
static int64_t scratch_for_transposed(int64_t columns) {
  const int64_t block = CACHE / padded(columns) + 1;
  return block * (padded(columns) + TURNED);
}
