#include "sharding/parallel/colwise_parallel.h"

#include <fmt/format.h>

#include "core/nn/activation.h"
#include "core/nn/attention.h"
#include "core/nn/mlp.h"
#include "sharding/parallel/parallelize.h"
#include "sharding/parallel/rowwise_parallel.h"
#include "tests/expect_error.h"
#include "tests/sharding/parallel/tensor_parallel.h"

namespace simmesh {
namespace {

using namespace tensor_parallel;

class Mlp : public ::testing::TestWithParam<std::int64_t> {};

// A perceptron that is split by columns and rows has other bits than on one device, whatever the
// data and the number of ranks, or its bias is added once a rank.
SIMMESH_TEST_P(Mlp, HasTheBitsOfOneDevice,
               {.mesh = {GetParam()}, .schedules = 20, .arithmetic = Arithmetic::exact()}) {
  // Plain pieces count as equal ones, so hidden columns that don't divide stay distributed.
  for (bool is_local : {true, false}) {
    nn::MlpOptions options{.width = 5, .hidden = is_local ? 24 : 7, .out = 4};
    nn::ModulePtr spread = nn::make_mlp(options), single = nn::make_mlp(options);
    fill(*spread);
    fill(*single);
    parallelize(
        *spread, mesh,
        {{"fc1", ColwiseParallel{.use_local_output = is_local}}, {"fc2", RowwiseParallel()}});
    EXPECT_EQ(to_string(DTensor::of(spread->find("fc1").parameter("weight")).placements()), "S(0)");
    EXPECT_EQ(to_string(DTensor::of(spread->find("fc2").parameter("weight")).placements()), "S(1)");
    expect_same_run(*spread, *single, numbers({3, 5}, 1), numbers({3, 4}, 2));
  }
}

// Pieces that are unequal fail as a product of matrices that don't fit, as in PyTorch, and nobody
// knows why.
SIMMESH_TEST(ColwiseParallel, RefusesUnequalPlainPieces, {.mesh = {2}, .schedules = 2}) {
  nn::ModulePtr model = nn::make_mlp({.width = 5, .hidden = 7, .out = 4});
  parallelize(*model, mesh, {{"fc1", ColwiseParallel()}, {"fc2", RowwiseParallel()}});
  testing::expect_error(
      [&] {
        (*model)(numbers({3, 5}, 1));
      },
      ErrorKind::runtime_error,
      fmt::format(
          "rank {}: a row-wise layer of 7 inputs got a plain piece of {} along dim 1. Plain "
          "pieces have one size on all 2 ranks; the layer's own are [4, 3]",
          mesh.get_rank(), mesh.get_rank() == 0 ? 4 : 3));
}
INSTANTIATE_TEST_SUITE_P(Worlds, Mlp, ::testing::Values(1, 2, 3, 4, 8));

class SplitAttention : public ::testing::TestWithParam<std::int64_t> {};

// The gradients of queries, keys and values meet in one input, whose sum has no part that is
// rounded alone; turning them by their position rounds as it does where all heads are.
SIMMESH_TEST_P(SplitAttention, HasTheBitsOfOneDevice,
               {.mesh = {GetParam()}, .schedules = 5, .arithmetic = Arithmetic::exact()}) {
  for (std::int64_t kv_heads : {8, 4})
    for (bool is_local : {true, false}) {
      nn::Attention::Options options{
          .width = 16, .heads = 8, .kv_heads = kv_heads, .rotary_theta = 10000.0};
      nn::Attention spread(options), single(options);
      for (nn::Attention* module : {&spread, &single}) {
        std::uint64_t seed = 100;
        nn::StateDict values = module->state_dict();
        for (auto& [name, tensor] : values)
          tensor = formula(tensor.shape(), {.rule = Rule::unit, .seed = ++seed});
        module->load_state_dict(values);
      }
      parallelize(
          spread, mesh,
          {{"w[qkv]", ColwiseParallel{.use_local_output = is_local}}, {"wo", RowwiseParallel()}});
      expect_same_run(spread, single, formula({2, 5, 16}, {.rule = Rule::unit, .seed = 1}),
                      formula({2, 5, 16}, {.rule = Rule::unit, .seed = 2}));
    }
}
INSTANTIATE_TEST_SUITE_P(Worlds, SplitAttention, ::testing::Values(1, 2, 4));

// Another module than a layer is split along a dim that means something else there.
SIMMESH_TEST(ColwiseParallel, RefusesOtherModules, {.mesh = {2}, .schedules = 2}) {
  nn::Activation relu(nn::ActivationKind::relu);
  testing::expect_error([&] { parallelize(relu, mesh, ColwiseParallel()); },
                        ErrorKind::not_implemented_error, "only supports nn::Linear");
}

}  // namespace
}  // namespace simmesh
