// Several arrays in one block of memory, which is faster than many small allocations.

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define FORBID(from, bytes) __asan_poison_memory_region(from, bytes)
#define ALLOW(from, bytes) __asan_unpoison_memory_region(from, bytes)
#else
#define FORBID(from, bytes) ((void)0)
#define ALLOW(from, bytes) ((void)0)
#endif

// Memory from `begin`, of which `used` bytes are taken; if `begin` is NULL, they are only counted.
struct arena {
  char *begin;
  int64_t used;
};

enum { ALIGNED = 64 };

// Takes the next bytes, and tells the sanitizer where they end.
static void *take_bytes(struct arena *arena, int64_t bytes) {
  char *here = arena->begin ? arena->begin + arena->used : NULL;
  arena->used += (bytes + ALIGNED - 1) / ALIGNED * ALIGNED + ALIGNED;
  if (here) {
    ALLOW(here, bytes);
    FORBID(here + bytes, arena->begin + arena->used - here - bytes);
  }
  return here;
}

static real *take(struct arena *arena, int64_t n) { return take_bytes(arena, n * sizeof(real)); }

static int64_t *take_places(struct arena *arena, int64_t n) {
  return take_bytes(arena, n * sizeof(int64_t));
}
