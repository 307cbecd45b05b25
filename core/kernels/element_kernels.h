#pragma once

// Like lanes.h: vectors of each dtype's elements, as they are in memory and as they are computed
// with. The 16-bit ones are computed with as floats that each operation rounds.
namespace simmesh::SIMMESH_KERNELS {
namespace {

typedef std::int32_t FloatBits __attribute__((vector_size(vector_bytes)));
typedef std::uint32_t UnsignedBits __attribute__((vector_size(vector_bytes)));
typedef std::uint16_t Shorts __attribute__((vector_size(vector_bytes / 2)));

// In the functions that follow, F is float and the integers have 32 bits, or all are vectors.

// rounded_to_half is the half that is nearest to x, as a float. A NaN becomes the quiet one of its
// sign, in all such conversions.
template <class I, class F>
I rounded_to_half(F x) {
  I bits = __builtin_bit_cast(I, x), magnitude = bits & 0x7FFFFFFF;
  I limited = magnitude < 0x47800000 ? magnitude : I{} + 0x47800000;
  I normal = (limited + 0xFFF + (limited >> 13 & 1)) & ~0x1FFF;
  normal = normal < 0x47800000 ? normal : I{} + 0x7F800000;
  // Added to one half, a multiple of 2^-24 stands in the low bits; the addition rounds.
  F small = (__builtin_bit_cast(F, magnitude) + 0.5f) - 0.5f;
  I rounded = magnitude < 0x38800000 ? __builtin_bit_cast(I, small) : normal;
  rounded = magnitude > 0x7F800000 ? I{} + 0x7FC00000 : rounded;
  return rounded | (bits ^ magnitude);
}

// half_of is the half that equals the float with these bits.
template <class F, class I>
I half_of(I bits) {
  I magnitude = bits & 0x7FFFFFFF;
  I normal = (magnitude - (112 << 23)) >> 13;
  I small = __builtin_bit_cast(I, F(__builtin_bit_cast(F, magnitude) + 0.5f)) - 0x3F000000;
  I half = magnitude < 0x38800000 ? small : normal;
  half = magnitude >= 0x7F800000 ? (magnitude >> 13 & 0x3FF) | 0x7C00 : half;
  return half | (bits >> 16 & 0x8000);
}

// float_of_half_bits is the inverse of half_of. as_float converts an I to an F.
template <class I, class Convert>
I float_of_half_bits(I half, Convert as_float) {
  I magnitude = half & 0x7FFF, shifted = magnitude << 13;
  I normal = shifted + (magnitude >= 0x7C00 ? I{} + (224 << 23) : I{} + (112 << 23));
  I small = __builtin_bit_cast(I, as_float(magnitude) * 0x1p-24f);
  return (magnitude < 0x0400 ? small : normal) | (half & 0x8000) << 16;
}

// rounded_to_bfloat16 is the bfloat16 that is nearest to x, as a float. U is unsigned.
template <class U, class F>
U rounded_to_bfloat16(F x) {
  U bits = __builtin_bit_cast(U, x);
  U rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
  return x != x ? (bits & 0x80000000u) | 0x7FC00000u : rounded;
}

// The processor's own conversions give the same, except for the bits of a NaN.
#if SIMMESH_VECTOR_BYTES == 64
inline Floats floats_of_halves(Shorts x) { return _mm512_cvtph_ps(__m256i(x)); }
inline Shorts halves_of_floats(Floats x) {
  return Shorts(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#elif SIMMESH_VECTOR_BYTES == 32
inline Floats floats_of_halves(Shorts x) { return _mm256_cvtph_ps(__m128i(x)); }
inline Shorts halves_of_floats(Floats x) {
  return Shorts(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
#endif
// Traits of a dtype: Stored is an element in memory, Value a vector of elements to compute with.
template <class T, int bytes>
struct PlainElements {
  typedef T Vector __attribute__((vector_size(bytes)));
  typedef T Loose __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
  using Stored = T;
  using Value = Vector;
  static constexpr int lanes = bytes / int(sizeof(T));
  static Value load(const T* p) { return *reinterpret_cast<const Loose*>(p); }
  static void store(T* p, Value x) { *reinterpret_cast<Loose*>(p) = x; }
  static Value rounded(Value x) { return x; }
};

// Integers wrap, so they are added and multiplied as unsigned ones.
template <class T, class U, int bytes>
struct IntegerElements : PlainElements<T, bytes> {
  typedef U Unsigned __attribute__((vector_size(bytes)));
};

struct SixteenBitElements {
  typedef std::uint16_t Loose __attribute__((vector_size(vector_bytes / 2), aligned(2), may_alias));
  using Stored = std::uint16_t;
  using Value = Floats;
  static constexpr int lanes = vector_bytes / 4;

  static Shorts load_stored(const Stored* p) { return *reinterpret_cast<const Loose*>(p); }
  static FloatBits load_bits(const Stored* p) {
    return __builtin_convertvector(load_stored(p), FloatBits);
  }
  static void store(Stored* p, Shorts x) { *reinterpret_cast<Loose*>(p) = x; }
  static void store_bits(Stored* p, FloatBits x) { store(p, __builtin_convertvector(x, Shorts)); }
};

struct BFloat16s : SixteenBitElements {
  static Value load(const Stored* p) { return Value(load_bits(p) << 16); }
  static void store(Stored* p, Value x) { store_bits(p, FloatBits(x) >> 16); }
  static Value rounded(Value x) { return Value(rounded_to_bfloat16<UnsignedBits>(x)); }
};

// Halves, including NaNs whose bits must stay.
struct WholeFloat16s : SixteenBitElements {
  static Value load(const Stored* p) {
    auto as_float = [](FloatBits x) { return __builtin_convertvector(x, Floats); };
    return Value(float_of_half_bits(load_bits(p), as_float));
  }
  static void store(Stored* p, Value x) { store_bits(p, half_of<Floats>(FloatBits(x))); }
  static Value rounded(Value x) { return Value(rounded_to_half<FloatBits>(x)); }
};

// Halves to compute with: each operation turns a signalling NaN into a quiet one.
#if SIMMESH_VECTOR_BYTES > 16
struct Float16s : SixteenBitElements {
  static Value load(const Stored* p) { return floats_of_halves(load_stored(p)); }
  static void store(Stored* p, Value x) { SixteenBitElements::store(p, halves_of_floats(x)); }
  static Value rounded(Value x) {
    Floats rounded = floats_of_halves(halves_of_floats(x));
    FloatBits nan = (FloatBits(x) & int(0x80000000)) | 0x7FC00000;
    return x != x ? Floats(nan) : rounded;
  }
};
#else
struct Float16s : WholeFloat16s {};
#endif

// AVX-512F has no operations on vectors of 64 bytes.
inline constexpr int bytes_of_bytes = vector_bytes < 32 ? vector_bytes : 32;

using Float64 = PlainElements<double, vector_bytes>;
using Float32 = PlainElements<float, vector_bytes>;
using Int64 = IntegerElements<std::int64_t, std::uint64_t, vector_bytes>;
using Int32 = IntegerElements<std::int32_t, std::uint32_t, vector_bytes>;
using UInt8 = IntegerElements<std::uint8_t, std::uint8_t, bytes_of_bytes>;
struct Boolean : UInt8 {};  // 0 or 1

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

// A float or a double has no Unsigned type, since it doesn't wrap.
template <class E>
concept Floating = !requires {
  typename E::Unsigned;
};

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
