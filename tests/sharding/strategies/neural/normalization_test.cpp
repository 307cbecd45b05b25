#include "core/ops/neural/normalization.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Input rows = {{3, 2, 4}, shards_and(3, {pending_sum})}, parameter = {{4}, shards_and(1)};

// What is normalized is whole on every rank; the gradients of the parameters add up over the
// others.
TEST(NormalizationStrategies, NormsEqualOneDevice) {
  Worlds worlds = {.meshes = {{2}, {4}}};
  worlds.arithmetic = Arithmetic::exact();
  expect_whole_bits({"layer_norm",
                     {rows, parameter, parameter},
                     [](gsl::span<const Tensor> in) {
                       return Outputs{layer_norm(in[0], Dims{4}, in[1], in[2])};
                     }},
                    worlds);
  expect_whole_bits(
      {"rms_norm",
       {rows, parameter},
       [](gsl::span<const Tensor> in) { return Outputs{rms_norm(in[0], Dims{4}, in[1])}; }},
      worlds);
  expect_whole_bits(
      {"group_norm",
       {{{3, 4, 2}, shards_and(3, {pending_sum})}, parameter, parameter},
       [](gsl::span<const Tensor> in) { return Outputs{group_norm(in[0], 2, in[1], in[2])}; }},
      worlds);
}

// Over all mesh dims together, without parameters.
TEST(NormalizationStrategies, NormsOnTwoMeshDimsEqualOneDevice) {
  expect_whole_bits({"layer_norm of the last dims",
                     {rows},
                     [](gsl::span<const Tensor> in) {
                       return Outputs{layer_norm(in[0], Dims{2, 4})};
                     }},
                    {.meshes = {{2, 2}}, .arithmetic = Arithmetic::exact()});
}

}  // namespace
}  // namespace simmesh
