#pragma once

#include <cstddef>
#include <cstdint>
#include <gsl/span>
#include <string_view>

#include "core/kernels/instruction_set.h"
#include "core/tensor/dtype.h"

namespace simmesh {

// Function is an elementary function with fixed bits: the same on every processor and compiler,
// unlike those of the C library. Only additions, multiplications, divisions and square roots of
// double are used, each rounded. In double the error is at most 2 ulp, 3 for erfc; floats and
// 16-bit elements are computed in double and rounded once, so that a float is off by at most
// 0.50000001 ulp.
enum class Function : std::uint8_t {
  exp,
  expm1,
  log,
  log1p,
  log2,
  tanh,
  sigmoid,  // 1 / (1 + exp(-x))
  erf,
  sin,
  cos,
  sqrt,
  rsqrt,  // 1 / sqrt(x)
  log10,
  sinh,
  cosh,
  asin,
  acos,
  atan,
  asinh,
  acosh,
  atanh,
  erfc,  // 1 - erf(x), without the loss
};

inline constexpr Function all_functions[] = {
    Function::exp,   Function::expm1,   Function::log,   Function::log1p, Function::log2,
    Function::tanh,  Function::sigmoid, Function::erf,   Function::sin,   Function::cos,
    Function::sqrt,  Function::rsqrt,   Function::log10, Function::sinh,  Function::cosh,
    Function::asin,  Function::acos,    Function::atan,  Function::asinh, Function::acosh,
    Function::atanh, Function::erfc};

// to_string returns the enumerator's name, for instance "log1p".
std::string_view to_string(Function function);

// apply_function returns f(x).
double apply_function(Function function, double x);

// power returns x^y with the special cases of the C library's pow.
double power(double x, double y);

// FunctionRequest is result[i] = f(operand[i]) for count contiguous elements of one floating dtype.
// result may be operand.
struct FunctionRequest {
  Function function = Function::exp;
  DType dtype = DType::float32;
  const std::byte* operand = nullptr;
  std::byte* result = nullptr;
  std::int64_t count = 0;
};

// apply_function computes a whole array. Raises a TypeError for dtypes that aren't floating.
void apply_function(const FunctionRequest& request, InstructionSet set = best_instruction_set());

// PowerRequest is result[i] = base[i]^exponent[i], or ^exponent[0] where exponent_is_scalar.
struct PowerRequest {
  DType dtype = DType::float32;
  const std::byte* base = nullptr;
  const std::byte* exponent = nullptr;
  bool exponent_is_scalar = false;
  std::byte* result = nullptr;
  std::int64_t count = 0;
};

// power computes a whole array. Raises a TypeError for dtypes that aren't floating.
void power(const PowerRequest& request);

// apply_function for a span of float, double, Half or BFloat16.
template <class T>
void apply_function(Function function, gsl::span<const T> operand, gsl::span<T> result,
                    InstructionSet set = best_instruction_set()) {
  apply_function({.function = function,
                  .dtype = dtype_of<T>,
                  .operand = reinterpret_cast<const std::byte*>(operand.data()),
                  .result = reinterpret_cast<std::byte*>(result.data()),
                  .count = std::int64_t(operand.size())},
                 set);
}

}  // namespace simmesh
