#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>

#include "core/autograd/variable.h"
#include "core/tensor/convert.h"
#include "tests/zero/zero_runs.h"
#include "zero/stage3/quantize.h"
#include "zero/stage3/quantized_reduce.h"
#include "zero/stage3/stage3.h"

// Each fault that DeepSpeed's quantised weights and gradients had, or have. The names have the
// numbers of its issues.
namespace simmesh::zero {
namespace {

// Parameters of the given shapes, by formula.
struct Shapes final : nn::Module {
  explicit Shapes(const std::vector<Shape>& shapes, DType dtype = DType::float32) {
    for (std::size_t i = 0; i < shapes.size(); ++i)
      register_parameter("p" + std::to_string(i),
                         formula(shapes[i], {.rule = Rule::unit, .seed = 30 + i, .dtype = dtype}));
  }
  nn::Tensors forward(const nn::Tensors& inputs) override { return inputs; }
};

Stage3 quantising(nn::Module& module, ZeroOptimization zero) {
  static const MakeOptimizer make = make_adamw;
  zero.stage = 3;
  zero.param_persistence_threshold = 0;
  Config config{
      .gradient_clipping = 0.0, .zero_allow_untested_optimizer = true, .zero_optimization = zero};
  return Stage3({module, make, config, ProcessGroup::world()});
}

// The elements of a parameter as modules see it.
std::vector<float> gathered(Stage3& stage, ParamId id) {
  const Tensor& leaf = stage.params()[id].leaf();
  Tensor wide = converted(leaf.detach(), DType::float32).contiguous();
  auto values = wide.values<float>();
  return {values.begin(), values.end()};
}

std::vector<float> seen_in_forward(nn::Module& module, ParamId id) {
  Stage3 stage = quantising(module, {.zero_quantized_weights = true});
  stage.coordinator().reset();
  stage.coordinator().enter(0, Pass::forward);
  std::vector<float> seen = gathered(stage, id);
  stage.coordinator().leave(0, Pass::forward);
  stage.coordinator().release_all();
  return seen;
}

// #5054, #5056: gradients that twice the number of ranks doesn't divide ended in an error or in
// wrong elements; they are reduced without quantisation.
SIMMESH_TEST(KnownQuantisationFaults, GradientsThatDoNotDivide5054And5056,
             {.mesh = {4}, .schedules = 4}) {
  std::vector<Shape> shapes = {{3, 5}, {5, 4}, {7}, {2, 3, 2}, {1, 1}};
  Shapes model(shapes);
  Stage3 stage =
      quantising(model, {.zero_hpz_partition_size = 2, .zero_quantized_gradients = true});
  for (std::size_t i = 0; i < shapes.size(); ++i)
    stage.add_gradient(ParamId(i), full(shapes[i], DType::float32, 0.1f * double(i + 1)));
  stage.end_gradients();
  for (std::size_t i = 0; i < shapes.size(); ++i)
    EXPECT_SAME_BITS(stage.full_grad(i), full(shapes[i], DType::float32, 0.1f * double(i + 1)));
}

// #4852, #8215: bits of bfloat16 weights were read as those of float16.
SIMMESH_TEST(KnownQuantisationFaults, WeightsInBfloat16AreNotReadAsFloat16_4852And8215,
             {.mesh = {2}, .schedules = 4}) {
  Shapes model({{4, 8}}, DType::bfloat16);
  Tensor wide = converted(model.parameter("p0").detach(), DType::float32);
  auto given = wide.values<float>();
  float largest = 0;
  for (float value : given) largest = std::max(largest, std::abs(value));
  std::vector<float> seen = seen_in_forward(model, 0);
  for (std::size_t i = 0; i < seen.size(); ++i)
    // A step of 8 bits at most, and a rounding to bfloat16 of half a unit of 2^-8.
    EXPECT_NEAR(seen[i], given[i], largest / 128 + largest * 0x1p-8f);
}

// #4386: a shard that isn't a multiple of 8 elements wasn't accepted by the kernel.
SIMMESH_TEST(KnownQuantisationFaults, ShardsOfAnySize4386, {.mesh = {3}, .schedules = 4}) {
  std::vector<Shape> shapes;
  for (std::int64_t numel : {1, 2, 7, 8, 9, 25, 49}) shapes.push_back({numel});
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Shapes model(shapes);
    auto given = model.parameter("p" + std::to_string(i)).detach().clone();
    std::vector<float> seen = seen_in_forward(model, ParamId(i));
    ASSERT_EQ(std::int64_t(seen.size()), shapes[i][0]);
    for (std::size_t j = 0; j < seen.size(); ++j)
      // Elements are at most 1, so a step is at most 1/128, and float16 rounds by 2^-11 twice.
      EXPECT_NEAR(seen[j], given.values<float>()[j], 1.0 / 128 + 0x1p-10) << shapes[i][0];
  }
}

// Weights were quantised together with those that were gathered with them, so that a module's
// weights depended on the fetch schedule.
SIMMESH_TEST(KnownQuantisationFaults, WeightsDoNotDependOnWhatIsGatheredWithThem,
             {.mesh = {2}, .schedules = 4}) {
  Shapes alone({{5, 3}});
  Shapes beside({{5, 3}, {40, 4}, {3}});
  Tensor large = beside.parameter("p1").detach();
  for (float& value : large.mutable_values<float>()) value *= 1000;
  EXPECT_EQ(seen_in_forward(alone, 0), seen_in_forward(beside, 0));
}

// Groups of a padded parameter that was gathered by itself were cut by its size without padding, so
// that elements got the scales of their neighbours.
SIMMESH_TEST(KnownQuantisationFaults, PaddingDoesNotShiftScales, {.mesh = {2}, .schedules = 4}) {
  constexpr std::int64_t numel = 16'013;  // two groups a rank, and padding
  Shapes model(std::vector<Shape>{Shape{numel}});
  Tensor values = model.parameter("p0").detach();
  auto elements = values.mutable_values<float>();
  // Every fourth thousand is a thousand times larger.
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = (i / 4000) % 2 == 0 ? 1.0f : 1000.0f;
  std::vector<float> seen = seen_in_forward(model, 0);
  std::int64_t shard = (numel + 1) / 2;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    std::int64_t start = rank * shard, count = std::min(shard, numel - start);
    Tensor padded = zeros({(shard + 7) / 8 * 8}, DType::float32);
    Tensor own = padded.narrow({0, 0, count});
    for (std::int64_t i = 0; i < count; ++i)
      own.mutable_values<float>()[std::size_t(i)] = ((start + i) / 4000) % 2 == 0 ? 1.0f : 1000.0f;
    Tensor back = dequantized(quantized_weights(padded), DType::float32);
    auto expected = back.values<float>();
    for (std::int64_t i = 0; i < count; ++i)
      ASSERT_EQ(seen[std::size_t(start + i)], expected[std::size_t(i)]) << start + i;
  }
}

// Gradients of matrices were divided by the number of nodes only: they were too large by the number
// of ranks of a node.
SIMMESH_TEST(KnownQuantisationFaults, GradientsAreMeansNotSumsWithinANode,
             {.mesh = {8}, .schedules = 4}) {
  for (std::int64_t per_node : {2, 4}) {
    Shapes model({{4, 8}, {8}});
    Stage3 stage =
        quantising(model, {.zero_hpz_partition_size = per_node, .zero_quantized_gradients = true});
    for (ParamId id : {0, 1})
      stage.add_gradient(id, full(stage.params()[id].shape(), DType::float32, -8.0));
    stage.end_gradients();
    for (std::size_t i : {0, 1})
      EXPECT_SAME_BITS(stage.full_grad(i), full(stage.params()[ParamId(i)].shape(), DType::float32,
                                                -8.0));  // in 4 bits, and not
  }
}

// Groups of quantised gradients reached over the parts of two ranks, so that a rank's scale was
// another one's too.
SIMMESH_TEST(KnownQuantisationFaults, GroupsStayWithinThePartOfARank,
             {.mesh = {4}, .schedules = 4}) {
  // 24 elements in at most 6 groups, of 4 ranks with 6 elements each: no group of 4 fits.
  Tensor gradient = empty({6, 4}, DType::float32);
  auto values = gradient.mutable_values<float>();
  for (std::size_t i = 0; i < 24; ++i) values[i] = -std::ldexp(1.0f, int(i / 6));
  Tensor mean = reduce_quantized(gradient, NodeGroups::of(ProcessGroup::world(), 2));
  EXPECT_SAME_BITS(mean, full({6}, DType::float32, -std::ldexp(1.0, int(mesh.get_rank()))));
}

}  // namespace
}  // namespace simmesh::zero
