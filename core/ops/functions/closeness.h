#pragma once

#include "core/tensor/tensor.h"

namespace simmesh {

// Tolerance is |a - b| <= absolute + relative * |b|.
struct Tolerance {
  double relative = 1e-5;
  double absolute = 1e-8;
  bool equal_nan = false;
};
// isclose compares elements within a tolerance; bool. allclose is true if all are close. Raise a
// RuntimeError for different dtypes, and for shapes that don't broadcast.
Tensor isclose(const Tensor& a, const Tensor& b, const Tolerance& tolerance = {});
bool allclose(const Tensor& a, const Tensor& b, const Tolerance& tolerance = {});

}  // namespace simmesh
