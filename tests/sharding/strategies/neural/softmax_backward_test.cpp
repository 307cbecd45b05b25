#include "core/ops/neural/softmax_backward.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// The gradient of a row needs all of the row.
TEST(SoftmaxBackwardStrategies, GradientsEqualOneDevice) {
  for (std::int64_t dim : {0, -1})
    expect_whole_bits({"softmax_backward",
                       {{{3, 4}, shards_and(2, {partial_sum})}, {{3, 4}, shards_and(2)}},
                       [dim](gsl::span<const Tensor> in) {
                         return Outputs{softmax_backward(in[0], in[1], dim),
                                        log_softmax_backward(in[0], in[1], dim)};
                       }},
                      {.meshes = {{2}, {2, 2}}, .schedules = {"fifo"}});
}

}  // namespace
}  // namespace simmesh
