#include "core/ops/neural/normalization.h"

#include "collectives/comm_debug_mode.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Input rows = {{3, 2, 4}, shards_and(3, {partial_sum})}, parameter = {{4}, shards_and(1)};

// Normalized dims are whole on every rank; the gradients of the parameters add up over the others.
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
       {{{3, 4, 2}, shards_and(3, {partial_sum})}, parameter, parameter},
       [](gsl::span<const Tensor> in) { return Outputs{group_norm(in[0], 2, in[1], in[2])}; }},
      worlds);
}

// The backward op has the bias as an operand, though no gradient is computed from it.
TEST(NormalizationStrategies, TheBackwardPassGathersTheBias) {
  World world({.ranks = 2});
  Outcome outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({2}, {"a"});
    auto made = [&](const Shape& shape, const Placement& placement) -> Tensor {
      return distributed(formula(shape, {.rule = Rule::unit, .seed = 3}), mesh, {placement});
    };
    Tensor x = made({3, 4}, Replicate()), weight = made({4}, Shard(0)), bias = made({4}, Shard(0));
    set_requires_grad(x);
    set_requires_grad(weight);
    Tensor y = layer_norm(x, Dims{4}, weight, bias);
    CommDebugMode mode;
    backward(y, {.gradients = {made({3, 4}, Replicate())}});
    EXPECT_EQ(mode.of(CollectiveOp::all_gather).calls, 2u);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
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
