// Matrices as products take and make them. All rows are those of C: one number after the other.

// A packed matrix has panels of PANEL columns one after the other, with their rows one below the
// other. The last panel is filled with zeros.
enum { PANEL = 2 * LANES, CACHE = (1 << 18) / sizeof(real), TURNED = 8 * TILE_ROWS };

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static inline int64_t padded(int64_t columns) { return (columns + PANEL - 1) / PANEL * PANEL; }

// Part `part` of `parts` of a range begins here.
static inline int64_t share(int64_t first, int64_t last, int64_t part, int64_t parts) {
  return first + (last - first) * part / parts;
}

// The same for vectors of n numbers, none of which is divided.
static inline int64_t share_lanes(int64_t n, int64_t part, int64_t parts) {
  return smaller(n, share(0, (n + LANES - 1) / LANES, part, parts) * LANES);
}

// Some rows of a matrix: those that are listed, or the first ones. A number below zero is ~row of
// another matrix.
struct rows {
  const real *matrix;
  int64_t stride;
  const int64_t *listed;
  const real *others;
};

static inline const real *row_of(const struct rows *rows, int64_t n) {
  const int64_t row = rows->listed ? rows->listed[n] : n;
  return row < 0 ? rows->others + ~row * rows->stride : rows->matrix + row * rows->stride;
}

// Where rows of sums go, one below the other or, where rows are listed, to those less the first;
// and whether they are added to what is there.
struct sums {
  real *matrix;
  int64_t stride;
  const int64_t *listed;
  int64_t first;
  int add;
};

static inline real *place_of(const struct sums *to, int64_t n) {
  return to->matrix + (to->listed ? to->listed[n] - to->first : n) * to->stride;
}

// The places from the n-th row.
static inline struct sums after(struct sums to, int64_t n) {
  if (to.listed) {
    to.listed += n;
  } else {
    to.matrix += n * to.stride;
  }
  return to;
}

// Numbers that multiply_transposed needs.
static int64_t scratch_for_transposed(int64_t columns) {
  const int64_t block = CACHE / padded(columns) + 1;
  return block * (padded(columns) + TURNED);
}
