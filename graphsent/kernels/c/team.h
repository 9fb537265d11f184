// Teams of threads, which run the same function; barriers in it synchronize the team. All threads
// take the caller's setting for subnormal numbers, which those of an earlier team would not know.
#ifdef __SSE__
#include <xmmintrin.h>
#define ARITHMETIC() _mm_getcsr()
#define SET_ARITHMETIC(of_caller) _mm_setcsr(of_caller)
#else
#define ARITHMETIC() 0
#define SET_ARITHMETIC(of_caller) (void)(of_caller)
#endif

#ifdef _OPENMP
enum { TEAMS = 1 };  // whether there may be more than one thread
#define IN_TEAM(work, w)                                                        \
  {                                                                             \
    const unsigned of_caller = ARITHMETIC();                                    \
    _Pragma("omp parallel num_threads(w->num_threads) if (w->num_threads > 1)") \
    {                                                                           \
      SET_ARITHMETIC(of_caller);                                                \
      work(w, omp_get_thread_num(), omp_get_num_threads());                     \
    }                                                                           \
  }
#define BARRIER _Pragma("omp barrier")
#else
enum { TEAMS = 0 };
#define IN_TEAM(work, w) work(w, 0, 1)
#define BARRIER
#endif
