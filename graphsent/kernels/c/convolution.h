// Wide convolution in groups of channels that do not mix, one group per SIMD lane.

struct convolution {
  int64_t num_groups, inputs, outputs, width;  // the latter three per group
  int64_t num_units, longest, num_threads;
  const int64_t *ranges;  // first row and last row + 1 of each sentence
  real *x;                // (num_rows, num_groups * inputs)
  real *y;                // (sum of length + width - 1, num_groups * outputs)
  const real *weight;     // (num_groups * outputs, inputs, width)
  real *dx, *dy, *dweight;
  real *workspace;  // convolution_vectors() vectors per thread
};

// Rows and columns of a tile of sums.
enum { TALL = 4, WIDE = 2 };

static inline int64_t up_to(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// Steps of a sentence that tiles read, with the zeros on either side.
static inline int64_t margined(const struct convolution *c) {
  return up_to(c->longest + c->width - 1, TALL) + up_to(c->width, TALL);
}

static inline int64_t num_weights(const struct convolution *c) {
  return up_to(c->outputs, WIDE) * up_to(c->inputs, WIDE) * up_to(c->width, TALL);
}

int64_t convolution_vectors(const struct convolution *c) {
  const int64_t channels = up_to(c->inputs, WIDE) + up_to(c->outputs, WIDE);
  return 2 * num_weights(c) + margined(c) * channels;
}

// The data of a thread: n groups from `group` on, transposed so that each has a lane.
struct lanes {
  int64_t group, n, inputs, outputs, width;  // the last three rounded up
  vec *weight, *dweight;                     // (outputs, inputs, width)
  vec *x, *y;                                // (steps, inputs), (steps, outputs)
};

static struct lanes lanes_of(const struct convolution *c, int64_t thread) {
  struct lanes l = {.inputs = up_to(c->inputs, WIDE),
                    .outputs = up_to(c->outputs, WIDE),
                    .width = up_to(c->width, TALL)};
  l.weight = (vec *)c->workspace + thread * convolution_vectors(c);
  l.dweight = l.weight + num_weights(c);
  l.x = l.dweight + num_weights(c);
  l.y = l.x + margined(c) * l.inputs;
  memset(l.weight, 0, convolution_vectors(c) * sizeof(vec));
  return l;
}

enum way { TO_LANES, TO_ROWS, ADD_TO_ROWS };

// Copies between rows, with `count` channels per group, and lanes.
static inline void turn(const struct lanes *l, enum way way, vec *lanes, int64_t across,
                        real *rows, int64_t num_rows, int64_t stride, int64_t count) {
  for (int64_t t = 0; t < num_rows; t++, lanes += across) {
    real *row = rows + t * stride + l->group * count;
    for (int64_t i = 0; i < l->n; i++) {
      for (int64_t j = 0; j < count; j++, row++) {
        real *lane = (real *)(lanes + j) + i;
        if (way == TO_LANES) {
          *lane = *row;
        } else {
          *row = way == TO_ROWS ? *lane : *row + *lane;
        }
      }
    }
  }
}

// Copies the weights of groups to lanes, or back to `rows` if these are given.
static inline void turn_weights(const struct convolution *c, const struct lanes *l,
                                const real *weight, vec *lanes, real *rows) {
  const int64_t size = c->outputs * c->inputs * c->width;
  for (int64_t i = 0; i < l->n; i++) {
    int64_t at = (l->group + i) * size;
    for (int64_t j = 0; j < c->outputs; j++) {
      for (int64_t q = 0; q < c->inputs; q++) {
        for (int64_t a = 0; a < c->width; a++, at++) {
          real *lane = (real *)(lanes + (j * l->inputs + q) * l->width + a) + i;
          if (rows) {
            rows[at] = *lane;
          } else {
            *lane = weight[at];
          }
        }
      }
    }
  }
}

// Begins the next groups.
static void take_groups(const struct convolution *c, struct lanes *l, int64_t group, int64_t last) {
  l->group = group;
  l->n = smaller(LANES, last - group);
  turn_weights(c, l, c->weight, l->weight, NULL);
  memset(l->dweight, 0, num_weights(c) * sizeof(vec));
}

// Puts n rows of x into lanes, between the zeros that windows see; rows beyond have no effect.
static void take_x(const struct convolution *c, const struct lanes *l, int64_t begin, int64_t n) {
  const int64_t channels = c->num_groups * c->inputs, margin = c->width - 1;
  memset(l->x, 0, margin * l->inputs * sizeof(vec));
  turn(l, TO_LANES, l->x + margin * l->inputs, l->inputs, c->x + begin * channels, n, channels,
       c->inputs);
  memset(l->x + (margin + n) * l->inputs, 0, margin * l->inputs * sizeof(vec));
}

typedef vec tile[WIDE][TALL];

static inline __attribute__((always_inline)) void add_products(tile sums, const vec *wide,
                                                               int64_t across, const vec *tall,
                                                               int64_t apart) {
  UNROLL for (int i = 0; i < WIDE; i++) {
    UNROLL for (int k = 0; k < TALL; k++) sums[i][k] += wide[i * across] * tall[k * apart];
  }
}

static void convolve_lanes(const struct convolution *c, const struct lanes *l, int64_t num_steps) {
  for (int64_t j = 0; j < c->outputs; j += WIDE) {
    for (int64_t t = 0; t < num_steps; t += TALL) {
      tile sums = {0};
      for (int64_t q = 0; q < c->inputs; q++) {
        const vec *weight = l->weight + (j * l->inputs + q) * l->width;
        for (int64_t a = 0; a < c->width; a++) {
          add_products(sums, weight + a, l->inputs * l->width, l->x + (t + a) * l->inputs + q,
                       l->inputs);
        }
      }
      UNROLL for (int i = 0; i < WIDE; i++) {
        UNROLL for (int k = 0; k < TALL; k++) l->y[(t + k) * l->outputs + j + i] = sums[i][k];
      }
    }
  }
}

// Adds to the gradients of the weights.
static void weights_back(const struct convolution *c, const struct lanes *l, int64_t num_steps) {
  for (int64_t j = 0; j < c->outputs; j += WIDE) {
    for (int64_t q = 0; q < c->inputs; q++) {
      for (int64_t a = 0; a < c->width; a += TALL) {
        tile sums = {0};
        for (int64_t t = 0; t < num_steps; t++) {
          add_products(sums, l->y + t * l->outputs + j, 1, l->x + (t + a) * l->inputs + q,
                       l->inputs);
        }
        UNROLL for (int i = 0; i < WIDE; i++) {
          vec *to = l->dweight + ((j + i) * l->inputs + q) * l->width + a;
          UNROLL for (int k = 0; k < TALL; k++) to[k] += sums[i][k];
        }
      }
    }
  }
}

// Gradients of n rows of x, which overwrite x.
static void rows_back(const struct convolution *c, const struct lanes *l, int64_t n) {
  for (int64_t q = 0; q < c->inputs; q += WIDE) {
    for (int64_t t = 0; t < n; t += TALL) {
      tile sums = {0};
      for (int64_t j = 0; j < c->outputs; j++) {
        const vec *weight = l->weight + (j * l->inputs + q) * l->width;
        for (int64_t a = 0; a < c->width; a++) {
          add_products(sums, weight + a, l->width,
                       l->y + (t + c->width - 1 - a) * l->outputs + j, l->outputs);
        }
      }
      UNROLL for (int i = 0; i < WIDE; i++) {
        UNROLL for (int k = 0; k < TALL; k++) l->x[(t + k) * l->inputs + q + i] = sums[i][k];
      }
    }
  }
}

static void convolve_by(const struct convolution *c, int64_t thread, int64_t threads) {
  struct lanes l = lanes_of(c, thread);
  const int64_t last = share_lanes(c->num_groups, thread + 1, threads);
  const int64_t channels = c->num_groups * c->outputs;
  for (int64_t g = share_lanes(c->num_groups, thread, threads); g < last; g += LANES) {
    take_groups(c, &l, g, last);
    real *y = c->y;
    for (int64_t u = 0; u < c->num_units; u++) {
      const int64_t begin = c->ranges[2 * u], n = c->ranges[2 * u + 1] - begin;
      if (n <= 0) continue;
      const int64_t num_steps = n + c->width - 1;
      take_x(c, &l, begin, n);
      convolve_lanes(c, &l, num_steps);
      turn(&l, TO_ROWS, l.y, l.outputs, y, num_steps, channels, c->outputs);
      y += num_steps * channels;
    }
  }
}

static void convolve_back_by(const struct convolution *c, int64_t thread, int64_t threads) {
  struct lanes l = lanes_of(c, thread);
  const int64_t last = share_lanes(c->num_groups, thread + 1, threads);
  const int64_t channels = c->num_groups * c->outputs, size = c->num_groups * c->inputs;
  for (int64_t g = share_lanes(c->num_groups, thread, threads); g < last; g += LANES) {
    take_groups(c, &l, g, last);
    real *dy = c->dy;
    for (int64_t u = 0; u < c->num_units; u++) {
      const int64_t begin = c->ranges[2 * u], n = c->ranges[2 * u + 1] - begin;
      if (n <= 0) continue;
      const int64_t num_steps = n + c->width - 1;
      turn(&l, TO_LANES, l.y, l.outputs, dy, num_steps, channels, c->outputs);
      dy += num_steps * channels;
      if (c->dweight) {
        take_x(c, &l, begin, n);
        weights_back(c, &l, num_steps);
      }
      if (c->dx) {
        rows_back(c, &l, n);
        turn(&l, ADD_TO_ROWS, l.x, l.inputs, c->dx + begin * size, n, size, c->inputs);
      }
    }
    if (c->dweight) turn_weights(c, &l, NULL, l.dweight, c->dweight);
  }
}

void convolve(const struct convolution *w) { IN_TEAM(convolve_by, w); }

// Adds to the gradients of x, and sets those of the weights; either may be NULL.
void convolve_back(const struct convolution *w) { IN_TEAM(convolve_back_by, w); }
