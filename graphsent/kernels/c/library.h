// The kernel functions that generated walks call, which are compiled only once.

// The first outputs of a linear map: sums = inputs @ weight.T + bias, in blocks of rows.
struct affine {
  int64_t num_rows, in_feats, columns, num_outputs;  // columns of the sums, rows of the weight
  int64_t num_threads;                               // of linear.h
  const real *inputs, *weight, *bias;  // the bias may be NULL in linear.h
  real *sums;                          // of linear.h: (num_rows, columns), or their gradients
  real *dinputs, *dweight, *dbias;     // NULL if not requested
  real *workspace;                     // of linear.h: linear_numbers() numbers
  int64_t block;                       // rows per block
  real *packed;   // the weight, or NULL if the forward pass packs it panel by panel
  real *scratch;  // `stride` numbers per thread
  int64_t stride;
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
  void (*begin_affine)(struct affine *a, struct arena *arena, int backward, int64_t threads);
  void (*pack_affine)(const struct affine *a, int64_t thread, int64_t threads);
  const real *(*affine_rows)(const struct affine *a, int64_t first, int64_t count, int64_t thread);
  void (*affine_gradients)(const struct affine *a, const real *dsums, int64_t thread,
                           int64_t threads);
};

#ifdef GENERATED
static const struct library *library;

// Returns whether this library and the kernels can run in the same team.
int64_t use_library(const struct library *given) {
  library = given;
  return given->teams == TEAMS;
}

#define pack library->pack
#define pack_transposed library->pack_transposed
#define multiply_into library->multiply_into
#define multiply_transposed library->multiply_transposed
#define begin_affine library->begin_affine
#define pack_affine library->pack_affine
#define affine_rows library->affine_rows
#define affine_gradients library->affine_gradients
#endif
