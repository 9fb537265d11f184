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
