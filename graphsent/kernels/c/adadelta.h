// Adadelta on selected rows of a table, each listed once.

// Updates n of `num_rows` rows of `size` numbers: with g = gradient + weight_decay * table and
// d = sqrt(steps + eps) / sqrt(squares + eps) * g, sets squares = rho squares + (1 - rho) g * g,
// then steps = rho steps + (1 - rho) d * d and table -= rate * d. Before, squares and steps are
// multiplied by rho once per step since `last` in which the row had no gradient. Returns 0, and
// changes nothing, if a row does not exist.
int64_t adadelta_rows(int64_t num_rows, int64_t size, int64_t n, const int64_t *rows,
                      const real *gradients, real *squares, real *steps, real *table, real *last,
                      int64_t step, double rate, double rho, double eps,
                      double weight_decay) {
  for (int64_t i = 0; i < n; i++) {
    if (rows[i] < 0 || rows[i] >= num_rows) return 0;
  }
  const real factor = rate, least = eps, part = 1 - rho, shrink = weight_decay;
  for (int64_t i = 0; i < n; i++) {
    const real *g = gradients + i * size;
    const int64_t first = rows[i] * size;
    const double decay = __builtin_powi(rho, (int)(step - (int64_t)last[rows[i]] - 1));
    const real of_steps = decay, of_squares = decay * rho, kept = rho;
    last[rows[i]] = step;
    real *square = squares + first, *moved = steps + first, *row = table + first;
#define STEP(j, n)                                                        \
  vec x = load(row + (j), n), d = load(g + (j), n) + shrink * x;          \
  vec s = load(square + (j), n) * of_squares;       \
  vec m = load(moved + (j), n) * of_steps;                                \
  s += d * d * part;                                                      \
  d *= square_root(m + least) / square_root(s + least);                   \
  store(square + (j), s, n);                                              \
  store(moved + (j), m * kept + d * d * part, n);                         \
  store(row + (j), x - factor * d, n);
    OVER_NUMBERS(0, size, STEP)
#undef STEP
  }
  return 1;
}
