#include "core/ops/neural/pooling.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Input images = {{3, 2, 4, 4}, shards_and(4, {partial_sum, partial_average, partial_max})};

TEST(PoolingStrategies, MaximaEqualOneDevice) {
  expect_whole_bits(of_one("max_pool2d", images,
                           [](const Tensor& x) {
                             Pooled pooled = max_pool2d_with_indices(x, {.kernel = {2, 2}});
                             return Outputs{pooled.values, pooled.indices};
                           }),
                    {.meshes = {{2}, {3}, {2, 2}}, .schedules = {"fifo", "pct:3"}});
}

TEST(PoolingStrategies, AveragesEqualOneDevice) {
  expect_whole_bits(
      of_one("avg_pool2d", images,
             [](const Tensor& x) {
               return Outputs{avg_pool2d(x, {.kernel = {2, 2}}), adaptive_avg_pool2d(x, {1, 2})};
             }),
      {.meshes = {{2}, {3}, {2, 2}}, .schedules = {"fifo", "pct:3"}});
}

}  // namespace
}  // namespace simmesh
