#include "core/ops/neural/gradient_operands.h"

#include "core/gradients/aligned_operands.h"
#include "core/ops/compute_mode.h"
#include "core/ops/kernels/normalized_groups.h"
#include "core/ops/neural/losses.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

Tensor operand(DimSpan shape, std::uint64_t seed) {
  return formula(Shape(shape.begin(), shape.end()), {.rule = Rule::unit, .seed = seed});
}

std::string layout_of(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& one : tensors)
    text += (text.empty() ? "" : " ") + to_string(DTensor::of(one).placements());
  return text;
}

// If operands stayed where they are, each op of the gradient would bring them together anew.
SIMMESH_TEST(GradientOperandsStrategies, OperandsComeBackInOneLayout,
             {.mesh = {2}, .schedules = 6}) {
  Tensor x = operand(Dims{4, 6}, 1), g = operand(Dims{4, 6}, 2), rstd = operand(Dims{4, 1}, 3),
         weight = operand(Dims{6}, 4);
  auto on = [&](const Tensor& whole, const Placement& placement) {
    return distribute_tensor(whole, mesh, {placement}).as_tensor();
  };
  std::vector<Tensor> aligned =
      gradient_operands(std::vector<Tensor>{on(g, Replicate()), on(x, Shard(0)), on(rstd, Shard(0)),
                                            on(weight, Shard(0))},
                        {attribute::of = "layer_norm", attribute::normalized_shape = Dims{6},
                         attribute::parameters = 1});
  EXPECT_EQ(layout_of(aligned), "S(0) S(0) S(0) R");
  EXPECT_SAME_BITS(DTensor::of(aligned[0]).full_tensor(), g);
  EXPECT_SAME_BITS(DTensor::of(aligned[3]).full_tensor(), weight);

  Tensor images = operand(Dims{4, 2, 3, 3}, 5), of_result = operand(Dims{4, 3, 2, 2}, 6);
  Attributes of_convolution = {attribute::of = "convolution"};
  EXPECT_EQ(
      layout_of(gradient_operands(
          std::vector<Tensor>{on(images, Shard(0)), on(of_result, Replicate())}, of_convolution)),
      "S(0) S(0)");
  EXPECT_EQ(layout_of(gradient_operands(std::vector<Tensor>{on(images, Shard(0))}, of_convolution)),
            "R");
}

// If operands stayed apart, or moved while gradients are recorded, a backward pass would run other
// collectives than PyTorch's.
SIMMESH_TEST(GradientOperandsStrategies, ElementwiseOperandsMeetOnce,
             {.mesh = {2}, .schedules = 6}) {
  Tensor whole = operand(Dims{4, 2}, 1);
  Tensor kept = distribute_tensor(whole, mesh, {Replicate()}).as_tensor();
  Tensor cut = distribute_tensor(whole, mesh, {Shard(1)}).as_tensor();
  Tensor parts = from_local(whole, mesh, {Partial()}).as_tensor();
  EXPECT_EQ(layout_of(aligned_operands({kept, cut}, "elementwise")), "R S(1)");
  NoGrad scope;
  EXPECT_EQ(layout_of(aligned_operands({kept, cut}, "elementwise")), "S(1) S(1)");
  EXPECT_EQ(layout_of(aligned_operands({kept, kept}, "elementwise")), "R R");
  EXPECT_EQ(layout_of(aligned_operands({parts, kept}, "elementwise")), "R R");
  EXPECT_EQ(layout_of(aligned_operands({parts, kept}, "factor")), "P(sum) R");
  EXPECT_EQ(layout_of(aligned_operands({kept, parts, parts}, "mse_loss")), "R P(sum) P(sum)");
  Tensor average = from_local(whole, mesh, {Partial(ReduceOp::avg)}).as_tensor();
  EXPECT_EQ(layout_of(aligned_operands({kept, average, kept}, "mse_loss")), "R P(avg) R");
  EXPECT_EQ(aligned_operands({whole, whole}, "elementwise")[1].storage(), whole.storage());
}

// PyTorch takes, among layouts that cost nothing, the one that cuts the free mesh dim too.
SIMMESH_TEST(GradientOperandsStrategies, PiecesAreTriedBeforeTheWhole,
             {.mesh = {2, 2}, .schedules = 6}) {
  NoGrad scope;
  Tensor whole = operand(Dims{4, 2}, 1);
  Tensor kept = distribute_tensor(whole, mesh, {Replicate(), Replicate()}).as_tensor();
  Tensor cut = distribute_tensor(whole, mesh, {Replicate(), Shard(0)}).as_tensor();
  EXPECT_EQ(layout_of(aligned_operands({kept, cut}, "elementwise")), "S(1),S(0) S(1),S(0)");
}

// Only a mean is divided by the weight of all targets, which must be whole for that.
SIMMESH_TEST(GradientOperandsStrategies, AMeanNeedsTheWholeWeightOfTheTargets,
             {.mesh = {2}, .schedules = 6}) {
  auto on = [&](const Tensor& whole, const Placement& placement) {
    return distribute_tensor(whole, mesh, {placement}).as_tensor();
  };
  Tensor partial =
      from_local(tensor_of<float>({}, {1.0f + float(mesh.get_rank())}), mesh, {Partial()})
          .as_tensor();
  std::vector<Tensor> given = {on(operand(Dims{}, 1), Replicate()),
                               on(operand(Dims{4, 3}, 2), Shard(0)),
                               on(zeros({4}, DType::int64), Shard(0)), partial};
  auto layout_with = [&](std::int64_t reduction) {
    return layout_of(
        gradient_operands(given, {attribute::of = "nll_loss", attribute::reduction = reduction}));
  };
  EXPECT_EQ(layout_with(1), "R S(0) S(0) R");
  EXPECT_EQ(layout_with(2), "R S(0) S(0) P(sum)");
}

SIMMESH_TEST(GradientOperandsStrategies, RefusesOperandsOfOtherOps, {.mesh = {2}}) {
  Tensor x = distribute_tensor(operand(Dims{4}, 1), mesh, {Shard(0)}).as_tensor();
  testing::expect_error([&] { gradient_operands(std::vector<Tensor>{x}, {attribute::of = "mm"}); },
                        ErrorKind::value_error, "got those of 'mm'");
}

}  // namespace
}  // namespace simmesh
