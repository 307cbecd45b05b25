#include "core/arithmetic/functions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "core/arithmetic/sums/rounding.h"
#include "core/check/error.h"
#include "core/kernels/kernels.h"

namespace simmesh {

namespace {

constexpr const char* functions_place = "arithmetic/functions";
constexpr std::int64_t block = 512;

[[noreturn]] void refuse(DType dtype) {
  raise(ErrorKind::type_error, functions_place, "expected a floating dtype, got {}",
        to_string(dtype));
}

double absolute(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7FFFFFFFFFFFFFFFu);
}

// Returns 0 for no integer, 1 for an odd and 2 for an even one.
int integer_kind(double y) {
  double magnitude = absolute(y);
  if (magnitude >= 0x1p53) return 2;
  auto whole = static_cast<std::int64_t>(magnitude);
  if (double(whole) != magnitude) return 0;
  return (whole & 1) ? 1 : 2;
}

bool is_negative(double x) { return (std::bit_cast<std::uint64_t>(x) >> 63) != 0; }

}  // namespace

std::string_view to_string(Function function) {
  switch (function) {
    case Function::exp: return "exp";
    case Function::expm1: return "expm1";
    case Function::log: return "log";
    case Function::log1p: return "log1p";
    case Function::log2: return "log2";
    case Function::tanh: return "tanh";
    case Function::sigmoid: return "sigmoid";
    case Function::erf: return "erf";
    case Function::sin: return "sin";
    case Function::cos: return "cos";
    case Function::sqrt: return "sqrt";
    case Function::rsqrt: return "rsqrt";
    case Function::log10: return "log10";
    case Function::sinh: return "sinh";
    case Function::cosh: return "cosh";
    case Function::asin: return "asin";
    case Function::acos: return "acos";
    case Function::atan: return "atan";
    case Function::asinh: return "asinh";
    case Function::acosh: return "acosh";
    case Function::atanh: return "atanh";
    case Function::erfc: return "erfc";
  }
  SIMMESH_CHECK(false, "unknown function {}", int(function));
}

double apply_function(Function function, double x) {
  double result = 0;
  kernels_of(best_instruction_set()).functions_double(int(function), &x, &result, 1);
  return result;
}

void apply_function(const FunctionRequest& r, InstructionSet set) {
  const Kernels& kernels = kernels_of(set);
  int function = int(r.function);
  visit_dtype(r.dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      refuse(r.dtype);
    } else {
      const T* x = reinterpret_cast<const T*>(r.operand);
      T* out = reinterpret_cast<T*>(r.result);
      if constexpr (std::is_same_v<T, double>) {
        kernels.functions_double(function, x, out, r.count);
      } else if constexpr (std::is_same_v<T, float>) {
        kernels.functions_float(function, x, out, r.count);
      } else {
        std::array<double, block> wide;
        for (std::int64_t i = 0; i < r.count; i += block) {
          std::int64_t count = std::min(block, r.count - i);
          auto* bytes = reinterpret_cast<std::byte*>(wide.data());
          kernels.convert(int(r.dtype), int(DType::float64),
                          reinterpret_cast<const std::byte*>(x + i), bytes, count);
          kernels.functions_double(function, wide.data(), wide.data(), count);
          kernels.convert(int(DType::float64), int(r.dtype), bytes,
                          reinterpret_cast<std::byte*>(out + i), count);
        }
      }
    }
  });
}

double power(double x, double y) {
  constexpr double infinity = std::bit_cast<double>(0x7FF0000000000000u);
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return std::bit_cast<double>(0x7FF8000000000000u);
  double magnitude = absolute(x);
  int kind = integer_kind(y);
  if (absolute(y) == infinity) {
    if (magnitude == 1) return 1;
    return (magnitude > 1) == (y > 0) ? infinity : 0;
  }
  bool negative = is_negative(x) && kind == 1;
  double result = 0;
  if (magnitude == 0 || magnitude == infinity) {
    result = (magnitude == 0) == (y < 0) ? infinity : 0;
  } else if (is_negative(x) && kind == 0) {
    return std::bit_cast<double>(0x7FF8000000000000u);
  } else {
    result = magnitude == 1 ? 1 : kernels_of(best_instruction_set()).power_magnitude(magnitude, y);
  }
  return negative ? -result : result;
}

void power(const PowerRequest& r) {
  visit_dtype(r.dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      refuse(r.dtype);
    } else {
      const T* x = reinterpret_cast<const T*>(r.base);
      const T* y = reinterpret_cast<const T*>(r.exponent);
      T* out = reinterpret_cast<T*>(r.result);
      for (std::int64_t i = 0; i < r.count; ++i)
        out[i] = rounded_to<T>(power(widened(x[i]), widened(y[r.exponent_is_scalar ? 0 : i])));
    }
  });
}

}  // namespace simmesh
