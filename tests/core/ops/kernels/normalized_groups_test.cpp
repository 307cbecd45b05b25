#include "core/ops/kernels/normalized_groups.h"

#include <gtest/gtest.h>

#include "core/ops/attribute_names.h"

namespace simmesh {
namespace {

void expect_groups(const NormalizedGroups& groups, const Shape& elements, const Shape& statistics,
                   const Shape& parameters) {
  EXPECT_EQ(groups.elements, elements);
  EXPECT_EQ(groups.statistics, statistics);
  EXPECT_EQ(groups.parameters, parameters);
}

// If this fails, a normalization mixes elements that share no mean.
TEST(NormalizedGroups, AreLastDimsOrChannelsInGroupsOrChannels) {
  NormalizedGroups layer = layer_norm_groups({2, 3, 4}, {attribute::normalized_shape = Dims{3, 4}});
  expect_groups(layer, {2, 3, 4}, {2, 1, 1}, {3, 4});
  EXPECT_EQ(layer.normalized_dims(), (Dims{1, 2}));
  expect_groups(group_norm_groups({2, 6, 5, 7}, {attribute::groups = 3}), {2, 3, 2, 35},
                {2, 3, 1, 1}, {3, 2, 1});
  expect_groups(batch_norm_groups({2, 6, 5}), {2, 6, 5}, {1, 6, 1}, {6, 1});
}

TEST(NormalizedGroups, MomentsAreOfEachGroup) {
  Tensor x = tensor_of<float>({2, 2}, {1, 3, -4, 4});
  NormalizedGroups rows = layer_norm_groups({2, 2}, {attribute::normalized_shape = Dims{2}});
  GroupMoments about_mean = group_moments(x, rows, {.subtracts_mean = true, .eps = 0});
  EXPECT_EQ(to_string(about_mean.mean), "float64[2, 1] {2, 0}");
  EXPECT_EQ(to_string(about_mean.variance), "float64[2, 1] {1, 16}");
  EXPECT_EQ(to_string(about_mean.rstd), "float64[2, 1] {1, 0.25}");
  GroupMoments about_zero = group_moments(x, rows, {.subtracts_mean = false, .eps = 11});
  EXPECT_EQ(to_string(about_zero.mean), "float64[2, 1] {0, 0}");
  EXPECT_EQ(to_string(about_zero.variance), "float64[2, 1] {5, 16}");
  EXPECT_EQ(about_zero.rstd.values<double>()[0], 0.25);
}

// If this fails, weights and biases go to other elements than those of their channel.
TEST(NormalizedGroups, ElementsAreScaledByTheirParameters) {
  Tensor x = tensor_of<float>({2, 2}, {1, 3, -4, 4}), out = empty({2, 2}, DType::float32);
  NormalizedGroups rows = layer_norm_groups({2, 2}, {attribute::normalized_shape = Dims{2}});
  GroupMoments moments = group_moments(x, rows, {.subtracts_mean = true, .eps = 0});
  normalize_groups(x, rows, moments, {}, out);
  EXPECT_EQ(to_string(out), "float32[2, 2] {-1, 1, -1, 1}");
  Affine affine{tensor_of<float>({2}, {10, 20}), tensor_of<float>({2}, {1, 2})};
  normalize_groups(x, rows, moments, affine, out);
  EXPECT_EQ(to_string(out), "float32[2, 2] {-9, 22, -9, 22}");
}

TEST(NormalizedGroups, StatisticsOfShortDtypesAreFloats) {
  EXPECT_EQ(statistics_dtype(DType::bfloat16), DType::float32);
  EXPECT_EQ(statistics_dtype(DType::float64), DType::float64);
  std::vector<Tensor> one = {tensor_of<float>({1}, {1})};
  EXPECT_TRUE(optional_input(one, 0).is_defined());
  EXPECT_FALSE(optional_input(one, 1).is_defined());
}

}  // namespace
}  // namespace simmesh
