#pragma once

#include <cstdint>
#include <type_traits>

#include "core/tensor/dtype.h"

namespace simmesh {

// widened returns a floating element as a double, exactly.
template <class T>
double widened(T x) {
  if constexpr (std::is_same_v<T, double>)
    return x;
  else
    return double(static_cast<float>(x));
}

}  // namespace simmesh
