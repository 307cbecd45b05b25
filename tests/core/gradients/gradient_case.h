#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/autograd/gradcheck.h"
#include "core/autograd/variable.h"
#include "core/tensor/formula.h"

namespace simmesh {

// GradientCase is one row of a family's table: a function whose gradients, and theirs, are compared
// with central differences.
struct GradientCase {
  std::string name;
  std::function<Tensor(const std::vector<Tensor>& inputs)> function;
  std::vector<Tensor> inputs;
};

// leaf returns distinct float64 elements in (-1, 1) that want a gradient; shift moves them.
inline Tensor leaf(std::initializer_list<std::int64_t> shape, std::uint64_t seed,
                   double shift = 0.0) {
  Tensor x = formula(shape, {.rule = Rule::unit, .seed = seed, .dtype = DType::float64});
  for (double& element : x.mutable_values<double>()) element += shift;
  set_requires_grad(x);
  return x;
}

inline void check_gradients(const std::vector<GradientCase>& cases) {
  for (const GradientCase& row : cases) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(gradcheck([&](const auto& inputs) { return std::vector{row.function(inputs)}; },
                        row.inputs),
              "");
  }
}

}  // namespace simmesh
