#include "core/ops/neural/softmax.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

TEST(SoftmaxStrategies, SoftmaxEqualsOneDevice) {
  for (std::int64_t dim : {0, -1})
    expect_whole_bits(of_one("softmax", {{3, 4}, shards_and(2, {partial_sum, partial_max})},
                             [&](const Tensor& x) { return Outputs{softmax(x, dim)}; }));
  expect_whole_bits(of_one("log_softmax", {{2, 3, 4}, shards_and(3, {partial_sum})},
                           [&](const Tensor& x) { return Outputs{log_softmax(x, 1)}; }),
                    {.meshes = {{2}, {3}}});
}

}  // namespace
}  // namespace simmesh
