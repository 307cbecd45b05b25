#include "core/ops/matrices/linear_algebra.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// Matrices of a batch are independent of each other.
TEST(LinearAlgebraStrategies, BatchesEqualOneDevice) {
  Input batch = {{3, 2, 2}, shards_and(3, {pending_sum}), {.rule = Rule::unit}};
  expect_whole_bits(of_one(
      "inverse", batch,
      [](const Tensor& x) {
        return Outputs{inverse(x), det(x), slogdet(x).sign, slogdet(x).logarithm};
      },
      false));
  expect_whole_bits(of_one("inverse", {batch.shape, shards_and(3), batch.data},
                           [](const Tensor& x) { return Outputs{inverse(x)}; }),
                    {.meshes = {{2}, {4}}});
  expect_whole_bits({"solve",
                     {{batch.shape, shards_and(3), batch.data}, {{3, 2, 4}, shards_and(3)}},
                     [](gsl::span<const Tensor> in) { return Outputs{solve(in[0], in[1])}; }},
                    {.meshes = {{2}}});
}

}  // namespace
}  // namespace simmesh
