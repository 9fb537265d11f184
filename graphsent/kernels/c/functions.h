// Exponential function, functions of it, logarithm, and error function, to about two units in the
// last place.

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

// Binary digits of a fraction, and log 2 as the sum of two numbers, so that n log2_high is exact.
#if SINGLE
enum { DIGITS = 23 };
static const real log2_high = 0.693359375f, log2_low = -2.12194440e-4f;
#else
enum { DIGITS = 52 };
static const real log2_high = 0.693145751953125, log2_low = 1.42860682030941723212e-6;
#endif

// Returns s and sets power = 2^n in exp(x) = 2^n (1 + s), where x = n log 2 + r, |r| <= log(2) / 2
// and s = exp(r) - 1. Numbers out of range are clamped; NaN is kept.
static inline vec exp_parts(vec x, vec *power) {
#if SINGLE
  const real limit = 87, shift = 0x1.8p23f + 127;  // the last bits of sums are n + bias
  enum { TERMS = 7 };
#else
  const real limit = 708, shift = 0x1.8p52 + 1023;
  enum { TERMS = 13 };
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
  UNROLL for (int i = TERMS - 2; i > 0; i--) sum = sum * r + inverse_factorials[i];
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

static inline vec square_root(vec x) {
  UNROLL for (int i = 0; i < LANES; i++) {
    x[i] = SINGLE ? __builtin_sqrtf(x[i]) : __builtin_sqrt(x[i]);
  }
  return x;
}

static inline vec sine(vec x) {
  for (int i = 0; i < LANES; i++) x[i] = SINGLE ? sinf(x[i]) : sin(x[i]);
  return x;
}

static inline vec cosine(vec x) {
  for (int i = 0; i < LANES; i++) x[i] = SINGLE ? cosf(x[i]) : cos(x[i]);
  return x;
}

static inline vec power(vec x, vec exponent) {
  for (int i = 0; i < LANES; i++) {
    x[i] = SINGLE ? powf(x[i], exponent[i]) : pow(x[i], exponent[i]);
  }
  return x;
}

// erf x = x P(x^2) up to 1, and 1 - exp(-x^2) Q((x - 3) / (x + 3)) from there to 6. Coefficients,
// from the highest power on, are those of interpolation at Chebyshev nodes.
static inline vec error_function(vec x) {
  static const real p[] = {
      -7.795898827002142e-10,  1.3720064546777686e-08, -1.6208483801871705e-07,
      1.6447424703317362e-06,  -1.492473690741966e-05, 0.00012055294904839707,
      -0.0008548325975389692,  0.0052239776071164225,  -0.02686617064323777,
      0.11283791670945006,     -0.37612638903183543,   1.1283791670955126};
  static const real q[] = {
      1.2801900862962662e-06, 2.023603179641757e-06, -8.008021319412685e-06, -1.284889451252353e-05,
      6.406182073530546e-05,  4.525472635483354e-05, -0.0005970623517093284, 0.0007077464443901538,
      0.004269136347508256,   -0.024392499318273194, 0.07166583719774874,    -0.15011593650078744,
      0.24560380171233195,    -0.32623356004303716,  0.17900115118138996};
  vec size = choose(x < 0, -x, x);
  size = choose(size > 6, all(6), size);
  const vec square = size * size, t = (size - 3) / (size + 3);
  vec near = all(p[0]), far = all(q[0]);
  UNROLL for (int i = 1; i < 12; i++) near = near * square + p[i];
  UNROLL for (int i = 1; i < 15; i++) far = far * t + q[i];
  far = 1 - exponential(-square) * far;
  return choose(size < 1, x * near, choose(x < 0, -far, far));
}

// log x = n log 2 + 2 artanh s, where x = 2^n m, sqrt(1/2) <= m < sqrt(2), s = (m - 1) / (m + 1).
static inline vec logarithm(vec x) {
#if SINGLE
  const real smallest = 0x1p-126f, larger = 0x1p23f;
  enum { TERMS = 6 };
  const word root = 0x3f3504f3;  // of 1/2
#else
  const real smallest = 0x1p-1022, larger = 0x1p52;
  enum { TERMS = 12 };
  const word root = 0x3fe6a09e667f3bcd;
#endif
  const mask tiny = x < smallest;
  const mask bits = (mask)choose(tiny, x * larger, x);
  const mask power = (bits - root) >> DIGITS;
  const vec m = (vec)(bits - (power << DIGITS)), s = (m - 1) / (m + 1), square = s * s;
  vec n;
  UNROLL for (int i = 0; i < LANES; i++) n[i] = power[i] - (tiny[i] ? DIGITS : 0);
  vec sum = all((real)1 / (2 * TERMS - 1));
  UNROLL for (int i = TERMS - 2; i > 0; i--) sum = sum * square + (real)1 / (2 * i + 1);
  vec y = n * log2_high + (2 * s + (2 * s * square * sum + n * log2_low));
  y = choose(x == INFINITY, x, y);
  return choose(x > 0, y, choose(x == 0, all(-INFINITY), all(NAN)));
}

// The quotient corrects the rounding of the sum.
static inline vec log_of_1_plus(vec x) {
  const vec sum = 1 + x, rounded = sum - 1, y = logarithm(sum);
  return choose(rounded == 0, x, choose(rounded == INFINITY, y, y * (x / rounded)));
}
