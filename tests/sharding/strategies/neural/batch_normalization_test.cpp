#include "core/ops/neural/batch_normalization.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// The statistics are those of the whole batch, however it is sharded.
TEST(BatchNormalizationStrategies, BatchesEqualOneDevice) {
  for (bool training : {true, false})
    expect_whole_bits(
        {"batch_norm",
         {{{4, 3, 2}, shards_and(3, {partial_sum})}, {{3}, shards_and(1)}, {{3}, shards_and(1)}},
         [training](gsl::span<const Tensor> in) {
           Tensor ones = mul(in[1].detach(), 0) + 1;
           BatchNorm options = {.running_mean = mul(in[2].detach(), 1),
                                .running_var = ones,
                                .weight = in[1],
                                .bias = in[2],
                                .training = training};
           Tensor result = batch_norm(in[0], options);
           return Outputs{result, options.running_mean, options.running_var};
         }},
        {.meshes = {{2}, {3}}, .arithmetic = Arithmetic::exact()});
}

}  // namespace
}  // namespace simmesh
