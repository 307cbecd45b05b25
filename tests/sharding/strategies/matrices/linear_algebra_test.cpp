#include "core/ops/matrices/linear_algebra.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Placement pending = Partial(ReduceOp::sum), average = Partial(ReduceOp::avg);
const Placement greatest = Partial(ReduceOp::max), least = Partial(ReduceOp::min);

using Tensors = std::vector<Tensor>;
using One = std::function<Tensors(const Tensor&)>;
Call of_one(const char* name, const Input& x, const One& function, bool has_gradient = true) {
  return {
      name, {x}, [function](gsl::span<const Tensor> in) { return function(in[0]); }, has_gradient};
}

// Matrices of a batch are independent of each other.
TEST(LinearAlgebraStrategies, BatchesEqualOneDevice) {
  Input batch = {{3, 2, 2}, shards_and(3, {pending}), {.rule = Rule::unit}};
  expect_whole_bits(of_one(
      "inverse", batch,
      [](const Tensor& x) {
        return Tensors{inverse(x), det(x), slogdet(x).sign, slogdet(x).logarithm};
      },
      false));
  expect_whole_bits(of_one("inverse", {batch.shape, shards_and(3), batch.data},
                           [](const Tensor& x) { return Tensors{inverse(x)}; }),
                    {.meshes = {{2}, {4}}});
  expect_whole_bits({"solve",
                     {{batch.shape, shards_and(3), batch.data}, {{3, 2, 4}, shards_and(3)}},
                     [](gsl::span<const Tensor> in) { return Tensors{solve(in[0], in[1])}; }},
                    {.meshes = {{2}}});
}

}  // namespace
}  // namespace simmesh
