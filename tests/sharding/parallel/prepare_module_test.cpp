#include "sharding/parallel/prepare_module.h"

#include "core/nn/activation.h"
#include "sharding/parallel/parallelize.h"
#include "tests/expect_error.h"
#include "tests/sharding/parallel/tensor_parallel.h"

namespace simmesh {
namespace {

using namespace tensor_parallel;

// A module gets its input with its old placements, or returns its piece as if it were the whole.
SIMMESH_TEST(PrepareModule, BringsInputsAndOutputsWhereTheyAreWanted,
             {.mesh = {2}, .schedules = 6}) {
  nn::Activation relu(nn::ActivationKind::relu);
  parallelize(relu, mesh,
              PrepareModuleInputOutput{
                  {.input_layouts = {Shard(0)}, .desired_input_layouts = {Replicate()}},
                  {.output_layouts = {Replicate()}, .desired_output_layouts = {Shard(1)}}});
  Tensor input = numbers({4, 6}, 1);
  Tensor piece = distribute_tensor(input, mesh, {Shard(0)}).local();
  Tensor expected =
      distribute_tensor(nn::Activation(nn::ActivationKind::relu)(input), mesh, {Shard(1)}).local();
  EXPECT_SAME_BITS(relu(piece), expected);
}

// Layouts of one list are used for other inputs.
SIMMESH_TEST(PrepareModule, RefusesListsOfOtherLengths, {.mesh = {2}, .schedules = 2}) {
  nn::Activation relu(nn::ActivationKind::relu);
  testing::expect_error(
      [&] {
        parallelize(relu, mesh, PrepareModuleInput{{Shard(0)}, {Replicate(), Replicate()}});
      },
      ErrorKind::assertion_error, "should have same length, got 1 and 2");
  parallelize(relu, mesh, PrepareModuleInput{{Shard(0), Shard(0)}, {Replicate(), Replicate()}});
  testing::expect_error([&] { relu(numbers({4}, 1)); }, ErrorKind::value_error,
                        "module inputs and input_layouts should have same length, got 1 and 2");
}

}  // namespace
}  // namespace simmesh
