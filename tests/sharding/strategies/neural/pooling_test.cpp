#include "core/ops/neural/pooling.h"

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

const Input images = {{3, 2, 4, 4}, shards_and(4, {pending, average, greatest})};

TEST(PoolingStrategies, MaximaEqualOneDevice) {
  expect_whole_bits(of_one("max_pool2d", images,
                           [](const Tensor& x) {
                             Pooled pooled = max_pool2d_with_indices(x, {.kernel = {2, 2}});
                             return Tensors{pooled.values, pooled.indices};
                           }),
                    {.meshes = {{2}, {3}, {2, 2}}, .schedules = {"fifo", "pct:3"}});
}

TEST(PoolingStrategies, AveragesEqualOneDevice) {
  expect_whole_bits(
      of_one("avg_pool2d", images,
             [](const Tensor& x) {
               return Tensors{avg_pool2d(x, {.kernel = {2, 2}}), adaptive_avg_pool2d(x, {1, 2})};
             }),
      {.meshes = {{2}, {3}, {2, 2}}, .schedules = {"fifo", "pct:3"}});
}

}  // namespace
}  // namespace simmesh
