// The k largest numbers of each column of a sentence, in order.

struct largest {
  int64_t size, num_units, longest, num_threads;
  const int64_t *ranges;  // first row and last row + 1 of each sentence
  const int64_t *counts;  // numbers of a column to keep, from 0 to all
  real *rows;             // (num_rows, size); gradients in the backward pass
  real *kept;             // (sum of counts, size); gradients in the backward pass
  int32_t *steps;         // (sum of counts, size): the position of each in its sentence
  real *workspace;        // 2 * longest + 1 vectors per thread
};

enum { BITS = 8 * sizeof(word) };

// Numbers as integers of the same order; NaN comes last.
static inline mask order_of(vec x) {
  const mask none = {0}, bits = (mask)(x + 0);  // turns -0 into 0
  const mask most = none + (word)(((uint64_t)1 << (BITS - 1)) - 1);
  return (mask)choose(x != x, (vec)most, (vec)(bits ^ (bits >> (BITS - 1) & most)));
}

static inline mask higher(mask a, mask b) {
  UNROLL for (int i = 0; i < LANES; i++) a[i] = a[i] > b[i] ? a[i] : b[i];
  return a;
}

static inline mask lower(mask a, mask b) {
  UNROLL for (int i = 0; i < LANES; i++) a[i] = a[i] < b[i] ? a[i] : b[i];
  return a;
}

// The k-th largest integer of each lane, by a sorted list of the k largest so far.
static inline mask least_of_few(const mask *order, int64_t num_steps, int64_t k, mask *list) {
  for (int64_t t = 0; t < num_steps; t++) {
    mask x = order[t];
    for (int64_t j = 0; j < smaller(t, k); j++) {
      const mask next = lower(list[j], x);
      list[j] = higher(list[j], x);
      x = next;
    }
    if (t < k) list[t] = x;
  }
  return list[k - 1];
}

// The same bit by bit, for large k.
static inline mask least_of_many(const mask *order, int64_t num_steps, int64_t k) {
  const mask none = {0};
  mask least = none + (word)((uint64_t)1 << (BITS - 1));
  for (int bit = BITS - 1; bit >= 0; bit--) {
    const mask next = least ^ (none + (word)((uint64_t)1 << bit));
    mask count = none;
    for (int64_t t = 0; t < num_steps; t++) count -= order[t] >= next;
    const mask enough = count >= (word)k;
    least = (enough & next) | (~enough & least);
  }
  return least;
}

// Positions of the k largest numbers of n columns: `places`, (k, LANES), has room for one more row.
static inline void find_largest(const real *rows, int64_t size, int64_t num_steps, int64_t k, int n,
                                mask *order, word *places) {
  for (int64_t t = 0; t < num_steps; t++) order[t] = order_of(load(rows + t * size, n));
  const mask least = k < BITS ? least_of_few(order, num_steps, k, (mask *)places)
                              : least_of_many(order, num_steps, k);
  mask above = {0};
  for (int64_t t = 0; t < num_steps; t++) above -= order[t] > least;
  mask equal = (word)k - above;  // number of values equal to the least to keep, the first ones
  word count[LANES] = {0};
  for (int64_t t = 0; t < num_steps; t++) {
    const mask is_equal = (order[t] == least) & (equal > 0);
    const mask is_kept = (order[t] > least) | is_equal;
    equal += is_equal;
    UNROLL for (int i = 0; i < LANES; i++) {
      places[count[i] * LANES + i] = t;  // overwritten by the next one unless it is kept
      count[i] -= is_kept[i];
    }
  }
}

static void largest_forward_by(const struct largest *l, int64_t thread, int64_t threads) {
  const int64_t size = l->size, first = share_lanes(size, thread, threads);
  const int64_t last = share_lanes(size, thread + 1, threads);
  mask *order = (mask *)l->workspace + thread * (2 * l->longest + 1);
  word *places = (word *)(order + l->longest);
  int64_t at = 0;
  for (int64_t u = 0; u < l->num_units; at += l->counts[u++] * size) {
    const int64_t num_steps = l->ranges[2 * u + 1] - l->ranges[2 * u], k = l->counts[u];
    if (!k) continue;
    for (int64_t column = first; column < last; column += LANES) {
      const int n = smaller(LANES, last - column);
      const real *rows = l->rows + l->ranges[2 * u] * size + column;
      find_largest(rows, size, num_steps, k, n, order, places);
      for (int64_t j = 0; j < k; j++) {
        real *kept = l->kept + at + j * size + column;
        int32_t *steps = l->steps + at + j * size + column;
        for (int i = 0; i < n; i++) {
          steps[i] = places[j * LANES + i];
          kept[i] = rows[steps[i] * size + i];
        }
      }
    }
  }
}

static void largest_backward_by(const struct largest *l, int64_t thread, int64_t threads) {
  const int64_t size = l->size, first = share_lanes(size, thread, threads);
  const int64_t last = share_lanes(size, thread + 1, threads);
  int64_t at = 0;
  for (int64_t u = 0; u < l->num_units; u++) {
    real *rows = l->rows + l->ranges[2 * u] * size;
    for (int64_t j = 0; j < l->counts[u]; j++, at += size) {
      for (int64_t i = first; i < last; i++) rows[l->steps[at + i] * size + i] += l->kept[at + i];
    }
  }
}

void largest_forward(const struct largest *w) { IN_TEAM(largest_forward_by, w); }

// Adds the gradients of the kept numbers to those of the rows.
void largest_backward(const struct largest *w) { IN_TEAM(largest_backward_by, w); }
