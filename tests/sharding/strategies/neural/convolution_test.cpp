#include "core/ops/neural/convolution.h"

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

Call convolution(const Shape& x, const Shape& weight, const Convolution& options) {
  return {
      "conv2d",
      {{x, shards_and(4, {partial_sum})}, {weight, shards_and(2)}, {{weight[0]}, shards_and(1)}},
      [options](gsl::span<const Tensor> in) {
        return Outputs{conv2d(in[0], in[1], in[2], options)};
      }};
}

// Channels that are cut make partial sums, windows are never cut.
TEST(ConvolutionStrategies, ConvolutionsEqualOneDevice) {
  for (const Convolution& options : {Convolution{.padding = {1, 1}}, Convolution{.stride = {2, 2}},
                                     Convolution{.stride = {1, 2}}})
    expect_whole_bits(convolution({3, 4, 4, 8}, {2, 4, 2, 2}, options),
                      {.meshes = {{2}, {3}}, .schedules = {"fifo", "pct:3"}});
}

// The gradient comes to the images, as PyTorch's convolution_backward has it; where windows lie
// side by side, images cut between them stay so.
TEST(ConvolutionStrategies, ImagesStayInTheBackwardPass) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2});
    auto gradients_of = [&](const Placement& images, const Placement& gradient) {
      Tensor x = distributed(formula({2, 4, 4, 6}, {.seed = 1}), mesh, {images});
      Tensor weight = distributed(formula({2, 4, 2, 3}, {.seed = 2}), mesh, {Replicate()});
      Tensor bias = distributed(formula({2}, {.seed = 3}), mesh, {Replicate()});
      for (Tensor* leaf : {&x, &weight, &bias}) set_requires_grad(*leaf);
      Tensor result = conv2d(x, weight, bias, {.stride = {1, 3}});
      Tensor start = distributed(formula(result.shape(), {.seed = 4}), mesh, {gradient});
      auto before = rank.counters();
      backward(result, {.gradients = {start}});
      std::string text;
      for (const Tensor& leaf : {x, weight, bias})
        text += to_string(DTensor::of(grad_of(leaf)).placements()) + " ";
      return text + (rank.counters() == before ? "free" : "moved");
    };
    Placement width = Shard(3), batch = Shard(0), whole = Replicate();
    EXPECT_EQ(gradients_of(width, width), "S(3) P(sum) P(sum) free");
    EXPECT_EQ(gradients_of(width, whole), "S(3) P(sum) P(sum) free");
    EXPECT_EQ(gradients_of(width, batch), "S(3) P(sum) P(sum) moved");
    EXPECT_EQ(gradients_of(batch, whole), "S(0) P(sum) P(sum) free");
    EXPECT_EQ(gradients_of(whole, batch), "R R R moved");
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

TEST(ConvolutionStrategies, GroupsEqualOneDevice) {
  expect_whole_bits(convolution({3, 4, 3, 4}, {4, 2, 2, 2}, {.groups = 2}),
                    {.meshes = {{2}, {3}}, .schedules = {"fifo"}});
}

TEST(ConvolutionStrategies, SignalsEqualOneDevice) {
  expect_whole_bits({"conv1d",
                     {{{4, 2, 6}, shards_and(3)}, {{2, 2, 3}, shards_and(1)}, {{2}, shards_and(1)}},
                     [](gsl::span<const Tensor> in) {
                       return Outputs{conv1d(in[0], in[1], in[2], {.padding = {1}})};
                     }},
                    {.meshes = {{2}, {2, 2}}, .schedules = {"fifo"}});
}

TEST(ConvolutionStrategies, VolumesEqualOneDevice) {
  for (const Convolution& options :
       {Convolution{.padding = {1}}, Convolution{.stride = {1, 1, 2}, .groups = 2}})
    expect_whole_bits({"conv3d",
                       {{{3, 2, 2, 3, 4}, shards_and(5, {partial_sum})},
                        {{2, 2 / options.groups, 2, 1, 2}, shards_and(2)}},
                       [options](gsl::span<const Tensor> in) {
                         return Outputs{conv3d(in[0], in[1], {}, options)};
                       }},
                      {.meshes = {{2}, {3}}, .schedules = {"fifo"}});
}

}  // namespace
}  // namespace simmesh
