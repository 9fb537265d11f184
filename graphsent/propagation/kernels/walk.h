// What a walk over the levels of a schedule works on; compiled_slots.py has the same structure.

struct walk {
  // Sizes: of a state, slots a node, gates a node; 0 as stride of inputs: one row for all nodes.
  int64_t has_output, size, count, num_gates, input_stride;
  int64_t num_levels, num_sources, num_nodes, num_threads;
  // Inner nodes, those that are not sources, are rows 0, 1, ... in the order of their positions.
  const int64_t *level_ends;  // (num_levels) row behind the last one of each level
  const int64_t *source;      // (inner * count) position of the node in each slot, or num_nodes
  const int64_t *leaves;      // (num_sources) their rows in start; their own where NULL
  const int64_t *place;       // (num_nodes) their rows in states; their own where NULL
  const int64_t *input_of;    // (num_gates) which block of the inputs enters each gate
  const real *inputs, *bias, *weight;  // (inner or 1, blocks * size), (gates * size) or NULL, packed
  const real *start[2];                // (any, size)
  real *states[2];                     // (num_nodes, size)
  real *gates, *kept, *gathered;       // of inner nodes; NULL if no backward pass follows
  // Gradients: of the results, or NULL; of the states, to be filled; and the wanted ones.
  const real *dresults[2];
  real *dstates[2], *dstart[2], *dsums, *dinputs, *dbias, *dweight;
  real *workspace;
};

// The code of one thread in a team; the barriers in it hold for the team.
#ifdef _OPENMP
#define IN_TEAM(work, w)                                                      \
  _Pragma("omp parallel num_threads(w->num_threads) if (w->num_threads > 1)") \
      work(w, omp_get_thread_num(), omp_get_num_threads())
#define BARRIER _Pragma("omp barrier")
#else
#define IN_TEAM(work, w) work(w, 0, 1)
#define BARRIER
#endif
