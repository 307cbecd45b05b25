#include "verify/pytorch/ops/complex_pairs.h"

#include <algorithm>

namespace simmesh {

namespace {

constexpr std::string_view all_complex = "complex:";
constexpr std::string_view some_complex = "some-complex:";

}  // namespace

bool is_complex_dtype(std::string_view dtype) {
  return dtype == "complex64" || dtype == "complex128";
}

DType real_dtype(std::string_view dtype) {
  if (!is_complex_dtype(dtype)) return dtype_from_string(dtype);
  return dtype == "complex64" ? DType::float32 : DType::float64;
}

std::string of_complex(std::string_view functions) {
  std::string result(all_complex);
  for (char letter : functions) {
    result += letter;
    if (letter == ' ') result += all_complex;
  }
  return result;
}

std::string function_on(std::string_view function, const std::vector<bool>& are_complex) {
  auto count = std::count(are_complex.begin(), are_complex.end(), true);
  if (count == 0) return std::string(function);
  constexpr std::string_view long_form = "torch.ops.";
  if (function.starts_with(long_form)) function.remove_prefix(long_form.size());
  bool are_all = std::size_t(count) == are_complex.size();
  return std::string(are_all ? all_complex : some_complex) + std::string(function);
}

bool is_of_complex(std::string_view function) {
  return function.starts_with(all_complex) || function.starts_with(some_complex);
}

std::string_view name_without_complex(std::string_view function) {
  return is_of_complex(function) ? function.substr(function.find(':') + 1) : function;
}

}  // namespace simmesh
