#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/check/check.h"
#include "core/tensor/half.h"

namespace simmesh {

// DType is the type of a tensor's elements. One arithmetic operation on float16 or bfloat16 is
// computed in float32 and rounded once, which is the correctly rounded result: 24 bits are more
// than twice 11 plus two.
enum class DType : std::uint8_t {
  float64,
  float32,
  bfloat16,
  float16,
  int64,
  int32,
  uint8,
  boolean,
};

inline constexpr DType all_dtypes[] = {DType::float64, DType::float32, DType::bfloat16,
                                       DType::float16, DType::int64,   DType::int32,
                                       DType::uint8,   DType::boolean};

// to_string returns PyTorch's name: "float32", and "bool" for boolean.
std::string_view to_string(DType dtype);

// dtype_from_string is the inverse of to_string. Raises a ValueError that lists the known names.
DType dtype_from_string(std::string_view name);

// bytes_per_element returns the size of one element in memory.
constexpr std::size_t bytes_per_element(DType dtype) {
  switch (dtype) {
    case DType::float64:
    case DType::int64: return 8;
    case DType::float32:
    case DType::int32: return 4;
    case DType::bfloat16:
    case DType::float16: return 2;
    case DType::uint8:
    case DType::boolean: return 1;
  }
  return 0;
}

// is_floating_point is true for float64, float32, bfloat16 and float16.
constexpr bool is_floating_point(DType dtype) { return dtype <= DType::float16; }

// visit_dtype calls f(T{}) with a value of the dtype's C++ type (bool for boolean) and returns its
// result.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float64: return f(double{});
    case DType::float32: return f(float{});
    case DType::bfloat16: return f(BFloat16{});
    case DType::float16: return f(Half{});
    case DType::int64: return f(std::int64_t{});
    case DType::int32: return f(std::int32_t{});
    case DType::uint8: return f(std::uint8_t{});
    case DType::boolean: return f(bool{});
  }
  SIMMESH_CHECK(false, "unknown dtype {}", static_cast<int>(dtype));
}

// rounded_to returns the value of type T nearest to x, ties to even, rounded once. Plain conversion
// to a 16-bit type goes through float32 and would round twice.
template <class T>
T rounded_to(double x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    auto nearest = static_cast<float>(x);
    if (double(nearest) == x || x != x) return T(nearest);
    // Round to odd instead: truncate, then set the last bit if any bits were lost, so that the next
    // rounding sees them.
    auto bits = std::bit_cast<std::uint32_t>(nearest);
    if ((nearest > 0 ? double(nearest) > x : double(nearest) < x)) --bits;
    if (nearest == 0) return T(nearest);
    return T(std::bit_cast<float>(bits | 1u));
  } else {
    return static_cast<T>(x);
  }
}

// dtype_of is the dtype that holds elements of type T.
template <class T>
inline constexpr DType dtype_of = [] {
  if constexpr (std::is_same_v<T, double>)
    return DType::float64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::float32;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::bfloat16;
  else if constexpr (std::is_same_v<T, Half>)
    return DType::float16;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::int64;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::int32;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::uint8;
  else {
    static_assert(std::is_same_v<T, bool>, "no dtype holds this type");
    return DType::boolean;
  }
}();

}  // namespace simmesh
