#pragma once

#include <algorithm>
#include <cstdint>
#include <gsl/span>
#include <initializer_list>

#include "core/tensor/tensor.h"

namespace simmesh {

// vector_of returns values that the program knows as a tensor of one dim, of the dtype that holds
// T; without elements where there are only shapes.
template <class T>
Tensor vector_of(gsl::span<const T> values) {
  Tensor result = empty({std::int64_t(values.size())}, dtype_of<T>);
  if (result.has_elements())
    std::copy(values.begin(), values.end(), result.mutable_values<T>().begin());
  return result;
}
template <class T>
Tensor vector_of(std::initializer_list<T> values) {
  return vector_of(gsl::span<const T>(values.begin(), values.size()));
}

}  // namespace simmesh
