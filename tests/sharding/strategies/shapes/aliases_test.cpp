#include "core/ops/shapes/aliases.h"

#include <gtest/gtest.h>

#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

void expect_alias(const char* name, const Shape& shape, bool has_gradient,
                  const std::function<Tensor(const Tensor&)>& function) {
  expect_whole_bits({.name = name,
                     .inputs = {values(shape, {Partial(), Partial(ReduceOp::max)})},
                     .function = [&](Given x) -> Tensors { return {function(x[0])}; },
                     .has_gradient = has_gradient});
}

TEST(AliasStrategies, ElementsInTheirPlaces) {
  expect_alias("alias", {4, 3}, true, [](const Tensor& x) { return alias(x); });
  expect_alias("positive", {2, 3}, true, [](const Tensor& x) { return positive(x); });
}

// The bytes of parts of a sum are no parts of the sum's bytes.
TEST(AliasStrategies, BytesOfPartialTensorsAreThoseOfTheSum) {
  expect_alias("view_dtype", {4, 3}, false,
               [](const Tensor& x) { return view_as_dtype(x, DType::int32); });
  expect_alias("view_dtype of a quarter of the size", {4, 3}, false,
               [](const Tensor& x) { return view_as_dtype(x, DType::uint8); });
}

TEST(AliasStrategies, ComplexNumbersStayWhole) {
  expect_alias("view_as_complex", {3, 4, 2}, true,
               [](const Tensor& x) { return view_as_complex(x); });
  expect_alias("view_as_real", {3, 2}, true, [](const Tensor& x) { return view_as_real(x); });
}

}  // namespace
}  // namespace simmesh
