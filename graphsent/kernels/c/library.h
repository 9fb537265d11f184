// The kernel functions that generated walks call, which are compiled only once.

// Some outputs of a linear map: sums = inputs @ weight.T + bias.
struct linear {
  int64_t num_rows, in_feats, num_outputs, num_threads;
  int64_t first, columns;  // the outputs to compute, or to differentiate
  const real *inputs, *weight, *bias;  // the bias may be NULL
  real *sums;                          // (num_rows, num_outputs), or their gradients
  real *dinputs, *dweight, *dbias;     // NULL if not requested
  real *workspace;                     // linear_numbers() numbers
};

struct library {
  int64_t teams;  // TEAMS of the kernels: without teams, they have no barriers
  void (*pack)(const real *matrix, int64_t stride, int64_t depth, int64_t columns, real *packed,
               int64_t part, int64_t parts);
  void (*pack_transposed)(const real *matrix, int64_t stride, int64_t depth, int64_t columns,
                          real *packed, int64_t part, int64_t parts);
  void (*multiply_into)(const real *rows, int64_t stride, int64_t num_rows, const real *packed,
                        int64_t depth, int64_t columns, struct sums to);
  void (*multiply_transposed)(struct rows rows, int64_t num_sums, struct rows others,
                              int64_t columns, int64_t num_rows, struct sums to, real *scratch,
                              int64_t part, int64_t parts);
  int64_t (*linear_numbers)(const struct linear *l, int64_t backward);
  void (*linear_forward_by)(const struct linear *l, int64_t thread, int64_t threads);
  void (*linear_backward_by)(const struct linear *l, int64_t thread, int64_t threads);
};
