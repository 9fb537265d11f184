// The products that a walk over slots computes, without those of empty slots. Those of first-level
// states come before the walk, once for all nodes that see the same row of the start in the same
// slot, as words that occur several times do (with a product per node, a step of treelstm with 25
// sentences takes 1.10 times as long). Such a combination of row and slot is a pair; an inner node
// that is seen in a slot is a link. For the gradients of weights, pairs are links of rows after the
// last.

struct places {
  int64_t *first_pair;   // (count + 1) first pair of each slot, and the end
  int64_t *pair_starts;  // (pairs) row of the start
  int64_t *pair_of;      // (inner, count) the pair that a node sees in a slot, or -1
  int64_t *earlier;      // (count, inner + 1) number of links of a slot in earlier rows
  int64_t *link_rows, *link_states;  // (count, inner) a link's node, and the row of the state
  int64_t *known;                    // (num_starts) pair of each row of the start, or -1
};

static void take_all(struct places *p, struct arena *arena, int64_t num_starts, int64_t inner) {
  p->first_pair = take_places(arena, COUNT + 1);
  p->pair_starts = take_places(arena, COUNT * inner);
  p->pair_of = take_places(arena, COUNT * inner);
  p->earlier = take_places(arena, COUNT * (inner + 1));
  p->link_rows = take_places(arena, COUNT * inner);
  p->link_states = take_places(arena, COUNT * inner);
  p->known = take_places(arena, num_starts);
}

// Finds the places for the rows of states that nodes see.
static void find_places(const struct walk *w, struct places p, const int64_t *rows) {
  const int64_t inner = w->num_nodes - w->num_leaves, zeros = w->num_starts + inner;
  int64_t pairs = p.first_pair[0] = 0;
  for (int64_t k = 0; k < COUNT; k++) {
    int64_t links = 0;
    for (int64_t n = 0; n < w->num_starts; n++) p.known[n] = -1;
    for (int64_t row = 0; row < inner; row++) {
      const int64_t state = rows[row * COUNT + k];
      p.earlier[k * (inner + 1) + row] = links;
      p.pair_of[row * COUNT + k] = -1;
      if (state == zeros) continue;
      if (state >= w->num_starts) {
        p.link_rows[k * inner + links] = row;
        p.link_states[k * inner + links++] = state;
        continue;
      }
      if (p.known[state] < 0) {
        p.pair_starts[pairs] = state;
        p.known[state] = pairs++;
      }
      p.pair_of[row * COUNT + k] = p.known[state];
    }
    p.earlier[k * (inner + 1) + inner] = links;
    for (int64_t pair = p.first_pair[k]; pair < pairs; pair++, links++) {
      p.link_rows[k * inner + links] = inner + pair;
      p.link_states[k * inner + links] = p.pair_starts[pair];
    }
    p.first_pair[k + 1] = pairs;
  }
}
