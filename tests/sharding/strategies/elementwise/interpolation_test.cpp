#include "core/ops/elementwise/interpolation.h"

#include "core/ops/elementwise/pointwise.h"
#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Placements sums_and_extremes =
    shards_and(2, {Partial(ReduceOp::sum), Partial(ReduceOp::max)});

void expect_of_three(const char* name, const Placements& kinds,
                     Tensor (*f)(const Tensor&, const Tensor&, const Tensor&)) {
  Input input{.shape = {5, 2}, .alphabet = kinds};
  expect_whole_bits(
      {.name = name,
       .inputs = {input, input, input},
       .function = [f](TensorSpan x) { return std::vector<Tensor>{f(x[0], x[1], x[2])}; }},
      {.meshes = {{2}, {4}}});
}

// Sums with a product are handled as sums.
TEST(InterpolationStrategies, GiveWholeBits) {
  expect_of_three("lerp", sums_and_extremes,
                  [](const Tensor& a, const Tensor& b, const Tensor& w) { return lerp(a, b, w); });
  expect_of_three(
      "addcmul", sums_and_extremes,
      [](const Tensor& x, const Tensor& a, const Tensor& b) { return addcmul(x, a, b, 2); });
  expect_of_three("addcdiv", shards_and(2, {Partial(ReduceOp::max)}),
                  [](const Tensor& x, const Tensor& a, const Tensor& b) {
                    return addcdiv(x, a, add(mul(b, b), 1), 2);
                  });
  expect_whole_bits(
      {.name = "lerp with a number",
       .inputs = {{.shape = {5, 2}, .alphabet = all_kinds(2)},
                  {.shape = {5, 2}, .alphabet = all_kinds(2)}},
       .function = [](TensorSpan x) { return std::vector<Tensor>{lerp(x[0], x[1], 0.25)}; }},
      {.meshes = {{2}}});
}

}  // namespace
}  // namespace simmesh
