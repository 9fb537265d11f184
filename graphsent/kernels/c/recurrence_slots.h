// Products of generated walks over slots.

// Initializes the sums of some rows with the products of first-level states in some slots.
static void begin_sums(const struct own *s, const int *slots, int count, int64_t first,
                       int64_t last, const real *pairs, int64_t width, real *to) {
  for (int64_t r = first; r < last; r++, to += width) {
    memset(to, 0, width * sizeof(real));
    for (int n = 0; n < count; n++) {
      const int64_t pair = s->places.pair_of[r * COUNT + slots[n]];
      if (pair >= 0) add(to, pairs + pair * width, 0, width);
    }
  }
}

// Multiplies a row for each inner node seen in a slot by the nodes of a block. The products are in
// rows of these nodes, and added to what is there or in its place.
static void multiply_links(struct own *s, int slot, int64_t first, int64_t last, struct rows rows,
                           const real *packed, int64_t depth, int64_t columns, real *to, int add) {
  const int64_t *earlier = s->places.earlier + slot * (s->inner + 1), at = slot * s->inner;
  const int64_t link = earlier[first], count = earlier[last] - link;
  rows.listed += at;
  copy_rows(&rows, link, count, depth, s->copied);
  const int64_t *nodes = s->places.link_rows + at + link;
  library->multiply_into(s->copied, depth, count, packed, depth, columns,
                         (struct sums){to - first * columns, columns, nodes, add});
}

// The products of first-level states in a slot, once per pair.
static void multiply_pairs(struct own *s, int part, int slot, const real *packed, int64_t width,
                           real *to, int more) {
  const int64_t begin = s->places.first_pair[slot], end = s->places.first_pair[slot + 1];
  const int64_t last = share(begin, end, s->thread + 1, s->threads);
  const struct rows rows = {s->state[part], SIZE, s->places.pair_starts};
  for (int64_t n = share(begin, end, s->thread, s->threads); n < last; n += s->block) {
    const int64_t count = smaller(s->block, last - n);
    copy_rows(&rows, n, count, SIZE, s->copied);
    library->multiply_into(s->copied, SIZE, count, packed, SIZE, width,
                           (struct sums){to + n * width, width, NULL, more});
  }
}

// The gradients of the sums of pairs, from those of all nodes that see them.
static void sum_pairs(struct own *s, real *sums, int64_t width) {
  for (int64_t slot = 0; slot < COUNT; slot++) {
    const int64_t begin = s->places.first_pair[slot], end = s->places.first_pair[slot + 1];
    const int64_t last = share(begin, end, s->thread + 1, s->threads);
    for (int64_t pair = share(begin, end, s->thread, s->threads); pair < last; pair++) {
      const int64_t *first = s->out_first + s->places.pair_starts[pair];
      real *to = sums + (s->inner + pair) * width;
      memset(to, 0, width * sizeof(real));
      for (int64_t i = first[0]; i < first[1]; i++) {
        if (s->out[i] % COUNT == slot) add(to, sums + s->out[i] / COUNT * width, 0, width);
      }
    }
  }
}

// The gradients of first-level states through pairs.
static void multiply_pairs_back(struct own *s, int part, int slot, const real *sums, int64_t width,
                                const real *packed) {
  const int64_t begin = s->places.first_pair[slot], end = s->places.first_pair[slot + 1];
  const int64_t last = share(begin, end, s->thread + 1, s->threads);
  for (int64_t n = share(begin, end, s->thread, s->threads); n < last; n += s->block) {
    const int64_t count = smaller(s->block, last - n);
    library->multiply_into(sums + (s->inner + n) * width, width, count, packed, width, SIZE,
                           (struct sums){s->copied, SIZE, NULL, 0});
    for (int64_t i = 0; i < count; i++) {
      add(s->dstate[part] + s->places.pair_starts[n + i] * SIZE, s->copied + i * SIZE, 0, SIZE);
    }
  }
}

// Adds to the gradient of the columns of a weight that multiply the states in a slot.
static void weigh_slot(struct own *s, int part, int slot, const real *sums, int64_t width, real *to,
                       int64_t stride) {
  const int64_t at = slot * s->inner;
  const int64_t links = s->places.earlier[slot * (s->inner + 1) + s->inner];
  const int64_t *first = s->places.first_pair + slot, count = links + first[1] - first[0];
  const struct rows rows = {sums, width, s->places.link_rows + at};
  const struct rows states = {s->state[part], SIZE, s->places.link_states + at};
  const struct sums added = {to, stride, NULL, 1};
  library->multiply_transposed(rows, width, states, SIZE, count, added, s->turned,
                               s->thread, s->threads);
}
