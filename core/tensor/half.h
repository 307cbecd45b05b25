#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace simmesh {

namespace detail {

// Returns the bits of the IEEE binary16 nearest to x, ties to even.
constexpr std::uint16_t half_bits(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  auto sign = std::uint16_t(bits >> 16 & 0x8000);
  bits &= 0x7FFFFFFF;
  constexpr std::uint32_t too_large = (127 + 16) << 23;  // 2^16
  constexpr std::uint32_t least_normal = (127 - 14) << 23;
  if (bits >= too_large) return sign | (bits > 0x7F800000 ? 0x7E00 : 0x7C00);
  if (bits < least_normal) {
    // Added to one half, a multiple of 2^-24 stands in the low bits; the addition rounds.
    float shifted = std::bit_cast<float>(bits) + 0.5f;
    return sign | std::uint16_t(std::bit_cast<std::uint32_t>(shifted) - 0x3F000000);
  }
  std::uint32_t is_odd = bits >> 13 & 1;
  return sign | std::uint16_t((bits - ((127 - 15) << 23) + 0xFFF + is_odd) >> 13);
}

constexpr float float_of_half(std::uint16_t half) {
  std::uint32_t sign = std::uint32_t(half & 0x8000) << 16, magnitude = half & 0x7FFF;
  if (magnitude >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000 | magnitude << 13);
  if (magnitude < 0x0400) {
    float value = float(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + ((127 - 15) << 23)));
}

// Returns the bits of the bfloat16 nearest to x, ties to even.
constexpr std::uint16_t bfloat16_bits(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return std::uint16_t(bits >> 16 & 0x8000) | 0x7FC0;
  return std::uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

constexpr float float_of_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t(bits) << 16);
}

}  // namespace detail

// Float16 is a floating number of 16 bits that computes in float32 and rounds once an operation.
// Conversion from float32 rounds to nearest even; the one to float32 is exact.
template <std::uint16_t (*bits_of)(float), float (*float_of)(std::uint16_t)>
class Float16 {
 public:
  Float16() = default;
  template <class T>
  requires std::is_arithmetic_v<T>
  explicit constexpr Float16(T value) : bits_(bits_of(static_cast<float>(value))) {}

  static constexpr Float16 from_bits(std::uint16_t bits) {
    Float16 result;
    result.bits_ = bits;
    return result;
  }
  constexpr std::uint16_t bits() const { return bits_; }

  constexpr operator float() const { return float_of(bits_); }

  friend constexpr Float16 operator+(Float16 a, Float16 b) { return Float16(float(a) + float(b)); }
  friend constexpr Float16 operator-(Float16 a, Float16 b) { return Float16(float(a) - float(b)); }
  friend constexpr Float16 operator*(Float16 a, Float16 b) { return Float16(float(a) * float(b)); }
  friend constexpr Float16 operator/(Float16 a, Float16 b) { return Float16(float(a) / float(b)); }
  friend constexpr Float16 operator-(Float16 a) { return from_bits(a.bits_ ^ 0x8000); }
  constexpr Float16& operator+=(Float16 other) { return *this = *this + other; }
  constexpr Float16& operator-=(Float16 other) { return *this = *this - other; }
  constexpr Float16& operator*=(Float16 other) { return *this = *this * other; }
  constexpr Float16& operator/=(Float16 other) { return *this = *this / other; }

 private:
  std::uint16_t bits_ = 0;
};

// Half is IEEE binary16: 11 significant bits, up to 65504.
using Half = Float16<detail::half_bits, detail::float_of_half>;
// BFloat16 has float32's range and 8 significant bits.
using BFloat16 = Float16<detail::bfloat16_bits, detail::float_of_bfloat16>;

// is_16_bit says whether T is one of the two.
template <class T>
inline constexpr bool is_16_bit = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

namespace detail {

// Limits of a 16-bit type, from the bits of its extremes.
template <class T, std::uint16_t infinity_bits, std::uint16_t least_normal_bits, int digits_of>
struct Float16Limits {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr int digits = digits_of;
  static constexpr T infinity() { return T::from_bits(infinity_bits); }
  static constexpr T max() { return T::from_bits(infinity_bits - 1); }
  static constexpr T lowest() { return -max(); }
  static constexpr T min() { return T::from_bits(least_normal_bits); }
  static constexpr T denorm_min() { return T::from_bits(1); }
  static constexpr T quiet_NaN() { return T(std::numeric_limits<float>::quiet_NaN()); }
  static constexpr T epsilon() { return T(1.0 / double(1 << (digits_of - 1))); }
};

}  // namespace detail

}  // namespace simmesh

template <>
struct std::numeric_limits<simmesh::Half>
    : simmesh::detail::Float16Limits<simmesh::Half, 0x7C00, 0x0400, 11> {};
template <>
struct std::numeric_limits<simmesh::BFloat16>
    : simmesh::detail::Float16Limits<simmesh::BFloat16, 0x7F80, 0x0080, 8> {};
