// Sums over the windows of sentences; each word adds a term per position in a window.

struct windows {
  int64_t width, size, num_units, num_threads;
  const int64_t *ranges;  // first word and last word + 1 of each sentence
  const int64_t *words;   // the row of each word; NULL if each has its own
  real *products;         // (num_rows, width, size)
  real *sums;             // (sum of length + width - 1, size)
};

// The term of word n in the window whose last position is that of word t.
static inline real *term(const struct windows *w, int64_t n, int64_t t) {
  const int64_t place = n - t + w->width - 1;
  return w->products + ((w->words ? w->words[n] : n) * w->width + place) * w->size;
}

// Runs WINDOW for all windows, given the number t of its last position, the number `first` of its
// first word, the number `last` after its last word, and the `row` of its sum.
#define OVER_WINDOWS(w, WINDOW)                                                     \
  real *row = w->sums;                                                              \
  for (int64_t u = 0; u < w->num_units; u++) {                                      \
    const int64_t from = w->ranges[2 * u], to = w->ranges[2 * u + 1];               \
    for (int64_t t = from; from < to && t < to + w->width - 1; t++, row += w->size) { \
      const int64_t first = larger(from, t - w->width + 1), last = smaller(to, t + 1); \
      WINDOW                                                                        \
    }                                                                               \
  }

static void windows_forward_by(const struct windows *w, int64_t thread, int64_t threads) {
  const int64_t begin = share_lanes(w->size, thread, threads);
  const int64_t end = share_lanes(w->size, thread + 1, threads);
#define STEP(j, n)                                                               \
  vec sum = load(term(w, first, t) + (j), n);                                    \
  for (int64_t i = first + 1; i < last; i++) sum += load(term(w, i, t) + (j), n);\
  store(row + (j), sum, n);
#define WINDOW OVER_NUMBERS(begin, end, STEP)
  OVER_WINDOWS(w, WINDOW)
#undef WINDOW
#undef STEP
}

static void windows_backward_by(const struct windows *w, int64_t thread, int64_t threads) {
  const int64_t begin = share_lanes(w->size, thread, threads);
  const int64_t end = share_lanes(w->size, thread + 1, threads);
#define WINDOW \
  for (int64_t i = first; i < last; i++) add(term(w, i, t), row, begin, end);
  OVER_WINDOWS(w, WINDOW)
#undef WINDOW
}

void windows_forward(const struct windows *w) { IN_TEAM(windows_forward_by, w); }

// Adds the gradients of the sums to those of the products.
void windows_backward(const struct windows *w) { IN_TEAM(windows_backward_by, w); }
