// The arguments of generated walks over the levels of a schedule.
//
// Rows of states: those of the start, then those of inner nodes by ordinal, then a row of zeros.

struct walk {
  int64_t num_levels, num_leaves, num_starts, num_nodes, num_edges, num_threads;
  int64_t keep;  // whether a backward pass follows, which needs `kept`
  int64_t kept_size, places_size, workspace_size;  // in numbers
  const int64_t *level_ends;  // (1 + num_levels) ordinal after the last one of each level
  const int64_t *source;      // (inner * COUNT) ordinal of the node in each slot, or num_nodes;
                              // (edges) ordinal of the source of each edge
  const int64_t *first_edge;  // (inner + 1) the beginning of the edges to a node
  const int64_t *leaf_rows;   // (num_leaves) their rows in the start; NULL if each has its own
  const int64_t *nodes;       // (num_nodes) the rows of results
  const int64_t *input_strides;      // 0 for one row for all nodes
  const int64_t *const *input_rows;  // (inner) their rows in an input; NULL if each has its own
  const real *const *inputs;
  const struct linear *projection;  // computes the first input of the start, or NULL; with its
                                    // arguments, and in the backward pass their gradients
  const real *const *start_inputs;  // (num_starts, width), or NULL
  const real *const *constants;
  real *const *results;  // (num_nodes, size), or NULL
  // Gradients of the results, or NULL, and of the arguments; NULL if not requested. Those of
  // constants, and of inputs that all nodes share, are added to what is there.
  const real *const *dresults;
  real *const *dinputs;  // of other inputs, each node has its own row
  real *const *dstart_inputs, *const *dconstants;
  real *kept, *workspace;
  int64_t *places;
};

#include "places.h"

static const struct library *library;  // of the kernels

// Returns whether this library and the kernels can run in the same team.
int64_t use_library(const struct library *given) {
  library = given;
  return given->teams == TEAMS;
}

// The first row of a level after the first, among inner nodes.
static inline int64_t first_row(const struct walk *w, int64_t level) {
  return w->level_ends[level] - w->num_leaves;
}

// The row of the state of the node with this ordinal, or of the zeros after the last one.
static inline int64_t row_at(const struct walk *w, int64_t ordinal) {
  if (ordinal >= w->num_leaves) return w->num_starts + ordinal - w->num_leaves;
  return w->leaf_rows ? w->leaf_rows[ordinal] : ordinal;
}

static void copy_rows(const struct rows *rows, int64_t first, int64_t count, int64_t size,
                      real *to) {
  for (int64_t n = 0; n < count; n++) {
    memcpy(to + n * size, row_of(rows, first + n), size * sizeof(real));
  }
}

// Copies the states of nodes to the results.
static void give_results(const struct walk *w, int part, const real *states, int64_t size,
                         int64_t thread, int64_t threads) {
  if (!w->results[part]) return;
  const int64_t last = share(0, w->num_nodes, thread + 1, threads);
  for (int64_t p = share(0, w->num_nodes, thread, threads); p < last; p++) {
    real *to = w->results[part] + w->nodes[p] * size;
    memcpy(to, states + row_at(w, p) * size, size * sizeof(real));
  }
}

// Adds the gradients of the results of leaves to those of the start, whose rows they may share.
static void add_gradients(const struct walk *w, int part, real *to, int64_t size, int64_t thread,
                          int64_t threads) {
  const int64_t from = share_lanes(size, thread, threads);
  const int64_t end = share_lanes(size, thread + 1, threads);
  for (int64_t p = 0; p < w->num_leaves && w->dresults[part]; p++) {
    add(to + row_at(w, p) * size, w->dresults[part] + w->nodes[p] * size, from, end);
  }
}

// Adds the threads' results to a row; they are `apart` numbers from each other.
static void add_up(real *to, const real *found, int64_t apart, int64_t width, int64_t thread,
                   int64_t threads) {
  const int64_t from = share_lanes(width, thread, threads);
  const int64_t end = share_lanes(width, thread + 1, threads);
  for (int64_t n = 0; n < threads; n++) add(to, found + n * apart, from, end);
}

static inline vec first_of_largest(vec a, vec b) { return choose((a >= b) | (a != a), a, b); }

// Adds n numbers to a row.
#define ADD_TO(to, x, n) store(to, load(to, n) + (x), n)

// Stores the sum of the numbers that STEP(j, n) assigns to x.
#define SUM_ROW(size, STEP, to)                                             \
  {                                                                         \
    vec total = all(0), x;                                                  \
    real rest = 0;                                                          \
    int64_t at = 0;                                                         \
    for (; at + LANES <= size; at += LANES) { STEP(at, LANES) total += x; } \
    if (size % LANES) {                                                     \
      STEP(at, size % LANES)                                                \
      for (int i = 0; i < size % LANES; i++) rest += x[i];                  \
    }                                                                       \
    for (int i = 0; i < LANES; i++) rest += total[i];                       \
    to[0] = rest;                                                           \
  }
