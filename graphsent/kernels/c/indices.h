// Index arrays: schedules, slots, distinct words. schedule.py, slots.py and feats.py of
// graphsent.propagation, and table.py of graphsent.models.embeddings, do the same in numpy.

// Replaces counts by their exclusive prefix sums: the places at which equal keys begin.
static void counts_to_places(int64_t *counts, int64_t size) {
  for (int64_t i = 0, sum = 0; i < size; i++) {
    const int64_t count = counts[i];
    counts[i] = sum;
    sum += count;
  }
}

// Sorts nodes, those in `from` or 0 to n - 1, by keys below `bound`, stably. `places` has room for
// `bound` numbers; afterwards it holds the end of each key.
static void sort_nodes(const int64_t *keys, int64_t bound, const int64_t *from, int64_t n,
                       int64_t *places, int64_t *to) {
  memset(places, 0, bound * sizeof(int64_t));
  for (int64_t i = 0; i < n; i++) places[keys[i]]++;
  counts_to_places(places, bound);
  for (int64_t i = 0; i < n; i++) {
    const int64_t node = from ? from[i] : i;
    to[places[keys[node]]++] = node;
  }
}

// Fills `parts`, 4 * n + 3 * m numbers, with the schedule of n nodes and m edges: packed arrays,
// in-degrees by position, and ends of levels. `scratch` has room for 3 * n + m + 1 numbers. Returns
// the number of levels plus one; 0 if a node or level is out of range.
int64_t fill_schedule(int64_t n, int64_t m, const int64_t *source, const int64_t *target,
                      const int64_t *level, int64_t *parts, int64_t *scratch) {
  int64_t *nodes = parts, *position = nodes + n, *edges = position + n;
  int64_t *edge_source = edges + m, *edge_target = edge_source + m;
  int64_t *degrees = edge_target + m, *ends = degrees + n;
  int64_t *degree = scratch, *by_degree = degree + n, *places = by_degree + n;
  int64_t levels = 0, most = 0;
  if (!n) return !m;  // pointers may be NULL
  memset(degree, 0, n * sizeof(int64_t));
  for (int64_t e = 0; e < m; e++) {
    if (source[e] < 0 || source[e] >= n || target[e] < 0 || target[e] >= n) return 0;
    most = larger(most, ++degree[target[e]]);
  }
  for (int64_t node = 0; node < n; node++) {
    if (level[node] < 0 || level[node] >= n) return 0;
    levels = larger(levels, level[node] + 1);
  }
  sort_nodes(degree, most + 1, NULL, n, places, by_degree);
  sort_nodes(level, levels, by_degree, n, places, nodes);
  memcpy(ends, places, levels * sizeof(int64_t));
  for (int64_t p = 0, row = 0; p < n; p++) {
    position[nodes[p]] = p;
    degrees[p] = degree[nodes[p]];
    places[p] = row;
    row += degrees[p];
  }
  for (int64_t e = 0; e < m; e++) {
    const int64_t to = position[target[e]], row = places[to]++;
    edges[row] = e;
    edge_target[row] = to;
    edge_source[row] = position[source[e]];
  }
  return levels + 1;
}

// Fills the slots of a schedule from its parts; returns 0 if a slot does not exist, or holds two
// edges. `places` are the slots of edges by ID; if NULL, their positions in the mailbox.
int64_t fill_slots(int64_t n, int64_t m, int64_t num_sources, int64_t count, const int64_t *parts,
                   const int64_t *places, int64_t *slots) {
  const int64_t *edges = parts + 2 * n, *source = edges + m, *target = source + m;
  const int64_t num_slots = (n - num_sources) * count;
  for (int64_t i = 0; i < num_slots; i++) slots[i] = n;
  for (int64_t row = 0, first = 0; row < m; row++) {
    if (target[row] != target[first]) first = row;
    const int64_t place = places ? places[edges[row]] : row - first;
    if (place < 0 || place >= count || target[row] < num_sources) return 0;
    const int64_t slot = (target[row] - num_sources) * count + place;
    if (slots[slot] < n) return 0;
    slots[slot] = source[row];
  }
  return 1;
}

// The distinct words of n nodes, in the order of last occurrences, and the index of each node's
// word among them, -1 for none (a negative token). Returns the number of distinct words. `table`
// has room for 2 * (mask + 1) numbers, mask + 1 a power of two above n; `places` for n.
int64_t distinct_words(int64_t n, const int64_t *tokens, int64_t mask, int64_t *table,
                       int64_t *words, int64_t *places) {
  int64_t *word_at = table, *last_at = table + mask + 1, count = 0;
  memset(word_at, -1, (mask + 1) * sizeof(int64_t));
  for (int64_t i = 0; i < n; i++) {
    places[i] = -1;
    if (tokens[i] < 0) continue;
    uint64_t at = (uint64_t)tokens[i] * 0x9E3779B97F4A7C15u >> 20 & mask;
    while (word_at[at] >= 0 && word_at[at] != tokens[i]) at = (at + 1) & mask;
    word_at[at] = tokens[i];
    last_at[at] = i;
    places[i] = at;
  }
  for (int64_t i = 0; i < n; i++) {
    if (places[i] < 0 || last_at[places[i]] != i) continue;
    words[count] = tokens[i];
    word_at[places[i]] = count++;
  }
  for (int64_t i = 0; i < n; i++) {
    if (places[i] >= 0) places[i] = word_at[places[i]];
  }
  return count;
}
