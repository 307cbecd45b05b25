#pragma once

// A vector of one instruction set, and its operations. Each of kernels_*.cpp includes this and the
// headers that say "like lanes.h" once, with SIMMESH_KERNELS (a namespace) and SIMMESH_VECTOR_BYTES
// set.
#include <cstdint>
#if SIMMESH_VECTOR_BYTES > 16
#include <immintrin.h>
#endif

namespace simmesh::SIMMESH_KERNELS {
namespace {

inline constexpr int vector_bytes = SIMMESH_VECTOR_BYTES;

typedef float Floats __attribute__((vector_size(vector_bytes)));
typedef double Doubles __attribute__((vector_size(vector_bytes)));
typedef std::uint64_t Ints __attribute__((vector_size(vector_bytes)));
typedef float LooseFloats __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
typedef double LooseDoubles __attribute__((vector_size(vector_bytes), aligned(8), may_alias));
typedef std::uint64_t LooseInts __attribute__((vector_size(vector_bytes), aligned(8), may_alias));

inline Floats load(const float* p) { return *reinterpret_cast<const LooseFloats*>(p); }
inline Doubles load(const double* p) { return *reinterpret_cast<const LooseDoubles*>(p); }
inline Ints load(const std::int64_t* p) { return *reinterpret_cast<const LooseInts*>(p); }
inline void store(float* p, Floats x) { *reinterpret_cast<LooseFloats*>(p) = x; }
inline void store(double* p, Doubles x) { *reinterpret_cast<LooseDoubles*>(p) = x; }
inline void store(std::int64_t* p, Ints x) { *reinterpret_cast<LooseInts*>(p) = x; }

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = Floats;
};
template <>
struct VectorOf<double> {
  using Type = Doubles;
};

// fused is a * b + c, rounded once. exactly_fused is the same for operands whose product is exact.
// load_wide loads as many floats or integers as there are doubles in a vector.
#if SIMMESH_VECTOR_BYTES == 64
inline Floats splat(float x) { return _mm512_set1_ps(x); }
inline Doubles splat(double x) { return _mm512_set1_pd(x); }
inline Doubles load_wide(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
inline Doubles load_wide(const std::int32_t* p) {
  return _mm512_cvtepi32_pd(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline Floats fused(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
inline Doubles fused(Doubles a, Doubles b, Doubles c) { return _mm512_fmadd_pd(a, b, c); }
inline Doubles exactly_fused(Doubles a, Doubles b, Doubles c) { return fused(a, b, c); }
#elif SIMMESH_VECTOR_BYTES == 32
inline Floats splat(float x) { return _mm256_set1_ps(x); }
inline Doubles splat(double x) { return _mm256_set1_pd(x); }
inline Doubles load_wide(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
inline Doubles load_wide(const std::int32_t* p) {
  return _mm256_cvtepi32_pd(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline Floats fused(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline Doubles fused(Doubles a, Doubles b, Doubles c) { return _mm256_fmadd_pd(a, b, c); }
inline Doubles exactly_fused(Doubles a, Doubles b, Doubles c) { return fused(a, b, c); }
#else
inline Floats splat(float x) { return Floats{x, x, x, x}; }
inline Doubles splat(double x) { return Doubles{x, x}; }
inline Doubles load_wide(const float* p) { return Doubles{double(p[0]), double(p[1])}; }
inline Doubles load_wide(const std::int32_t* p) { return Doubles{double(p[0]), double(p[1])}; }

// The product of two floats is exact in double; the sum is rounded to odd there, so that the
// rounding to float is the only one.
inline float fused(float a, float b, float c) {
  double product = double(a) * double(b), addend = c;
  double sum = product + addend;
  double back = sum - product;
  double lost = (product - (sum - back)) + (addend - back);
  if (lost == 0 || sum - sum != 0) return float(sum);
  auto bits = __builtin_bit_cast(std::uint64_t, sum);
  if (!(bits & 1)) bits = (lost > 0) == (sum > 0) ? bits + 1 : bits - 1;
  return float(__builtin_bit_cast(double, bits));
}
inline Floats fused(Floats a, Floats b, Floats c) {
  for (int i = 0; i < 4; ++i) c[i] = fused(a[i], b[i], c[i]);
  return c;
}
inline Doubles fused(Doubles a, Doubles b, Doubles c) {
  for (int i = 0; i < 2; ++i) c[i] = __builtin_fma(a[i], b[i], c[i]);
  return c;
}
inline Doubles exactly_fused(Doubles a, Doubles b, Doubles c) { return a * b + c; }
#endif

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
