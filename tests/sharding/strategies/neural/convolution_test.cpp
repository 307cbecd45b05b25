#include "core/ops/neural/convolution.h"

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
