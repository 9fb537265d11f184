// Exponential function, functions of it, logarithm, and error function, to about two units in the last place.

#if defined(__AVX512F__) || (defined(__AVX__) && VECTOR_BYTES < 64) || \
    (defined(__SSE2__) && VECTOR_BYTES < 32)
#define REGISTER "v"
#elif defined(__aarch64__) && VECTOR_BYTES < 32
#define REGISTER "w"
#else
#define REGISTER "m"
#endif

// A product, kept out of fused operations: in those, a * a - b * b is not 0 where a is b.
static inline vec rounded(vec product) {
  __asm__("" : "+" REGISTER(product));
  return product;
}

static inline vec choose(mask which, vec yes, vec no) {
  return (vec)((which & (mask)yes) | (~which & (mask)no));
}

// Returns s and sets power = 2^n in exp(x) = 2^n (1 + s), where x = n log 2 + r, |r| <= log(2) / 2
// and s = exp(r) - 1. Numbers out of range are clamped; NaN is kept.
static inline vec exp_parts(vec x, vec *power) {
#if SINGLE
  const real limit = 87, log2_high = 0.693359375f, log2_low = -2.12194440e-4f;
  const real shift = 12582912 + 127;  // 1.5 * 2^23: the last bits of the sum are n and the bias
  enum { DIGITS = 23, TERMS = 7 };
#else
  const real limit = 708, log2_high = 0.693145751953125, log2_low = 1.42860682030941723212e-6;
  const real shift = 6755399441055744 + 1023;
  enum { DIGITS = 52, TERMS = 13 };
#endif
  static const real inverse_factorials[] = {1.0,
                                            1.0 / 2,
                                            1.0 / 6,
                                            1.0 / 24,
                                            1.0 / 120,
                                            1.0 / 720,
                                            1.0 / 5040,
                                            1.0 / 40320,
                                            1.0 / 362880,
                                            1.0 / 3628800,
                                            1.0 / 39916800,
                                            1.0 / 479001600,
                                            1.0 / 6227020800};
  x = choose(x > limit, all(limit), x);
  x = choose(x < -limit, all(-limit), x);
  vec shifted = x * (real)1.4426950408889634 + shift;
  vec n = shifted - shift;
  *power = (vec)((mask)shifted << DIGITS);
  vec r = x - n * log2_high - n * log2_low;
  vec sum = all(inverse_factorials[TERMS - 1]);
#pragma GCC unroll 16
  for (int i = TERMS - 2; i > 0; i--) sum = sum * r + inverse_factorials[i];
  return sum * (r * r) + r;
}

static inline vec exponential(vec x) {
  vec power, sum = exp_parts(x, &power);
  return power * sum + power;
}

// The exponential function without clamping: from 0 to infinity.
static inline vec exponential_of_any(vec x) {
  const vec root = exponential(x / 2);
  return root * root;
}

static inline vec exp_minus_1(vec x) {
  vec power, sum = exp_parts(x, &power);
  return power * sum + (power - 1);
}

static inline vec exp_minus_1_of_any(vec x) {
  return choose(x > 1, exponential_of_any(x) - 1, exp_minus_1(x));
}

static inline vec sigmoid(vec x) { return 1 / (exponential_of_any(-x) + 1); }

static inline vec hyperbolic_tangent(vec x) {
  vec e = exp_minus_1(2 * x);
  return e / (e + 2);
}

#if SINGLE
#define BUILTIN(name) __builtin_##name##f
#else
#define BUILTIN(name) __builtin_##name
#endif

static inline vec square_root(vec x) {
  UNROLL for (int i = 0; i < LANES; i++) x[i] = BUILTIN(sqrt)(x[i]);
  return x;
}

static inline vec error_function(vec x) {
  UNROLL for (int i = 0; i < LANES; i++) x[i] = BUILTIN(erf)(x[i]);
  return x;
}

// log x = n log 2 + 2 artanh s, where x = 2^n m, sqrt(1/2) <= m < sqrt(2), s = (m - 1) / (m + 1).
static inline vec logarithm(vec x) {
#if SINGLE
  const real smallest = 0x1p-126f, larger = 0x1p23f;
  const real log2_high = 0.693359375f, log2_low = -2.12194440e-4f;
  enum { DIGITS = 23, TERMS = 6 };
  const word root = 0x3f3504f3;  // of 1/2
#else
  const real smallest = 0x1p-1022, larger = 0x1p52;
  const real log2_high = 0.693145751953125, log2_low = 1.42860682030941723212e-6;
  enum { DIGITS = 52, TERMS = 12 };
  const word root = 0x3fe6a09e667f3bcd;
#endif
  const mask tiny = x < smallest;
  const mask bits = (mask)choose(tiny, x * larger, x);
  const mask power = (bits - root) >> DIGITS;
  const vec m = (vec)(bits - (power << DIGITS)), s = (m - 1) / (m + 1), square = s * s;
  vec n;
  UNROLL for (int i = 0; i < LANES; i++) n[i] = power[i] - (tiny[i] ? DIGITS : 0);
  vec sum = all((real)1 / (2 * TERMS - 1));
#pragma GCC unroll 16
  for (int i = TERMS - 2; i > 0; i--) sum = sum * square + (real)1 / (2 * i + 1);
  vec y = n * log2_high + (2 * s + (2 * s * square * sum + n * log2_low));
  y = choose(x == INFINITY, x, y);
  return choose(x > 0, y, choose(x == 0, all(-INFINITY), all(NAN)));
}

// The quotient corrects the rounding of the sum.
static inline vec log_of_1_plus(vec x) {
  const vec sum = 1 + x, rounded = sum - 1, y = logarithm(sum);
  return choose(rounded == 0, x, choose(rounded == INFINITY, y, y * (x / rounded)));
}
