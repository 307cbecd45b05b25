#include "zero/stage3/gradient_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/gtest.h"
#include "tests/zero/cut_parameters.h"

namespace simmesh::zero {
namespace {

using ::testing::ElementsAre;

// If this fails, a rank updates its shards with the gradients of other elements, or with sums where
// there should be means.
SIMMESH_TEST(GradientShards, EachRankGetsTheMeanOfItsPart, {.mesh = {2}, .schedules = 4}) {
  for (std::int64_t bucket : {1, 3, 100})
    for (bool reduce_scatter : {true, false}) {
      CutParameters cut({3, 2}, {});
      GradientShards shards(*cut.params, {.bucket_size = bucket, .reduce_scatter = reduce_scatter});
      float factor = float(mesh.get_rank() + 1);
      for (float times : {1.0f, 2.0f}) {
        shards.add(1, tensor_of<float>({2}, {20 * factor, 40 * factor}));
        shards.add(0, tensor_of<float>({3}, {2 * factor, 4 * factor, 6 * factor}));
        shards.flush();
        if (mesh.get_rank() == 0) {
          EXPECT_THAT(shards.of(0).values<float>(), ElementsAre(3 * times, 6 * times));
          EXPECT_THAT(shards.of(1).values<float>(), ElementsAre(30 * times));
        } else {
          EXPECT_THAT(shards.of(0).values<float>(), ElementsAre(9 * times));
          EXPECT_THAT(shards.of(1).values<float>(), ElementsAre(60 * times));
        }
      }
      shards.clear();
      EXPECT_FALSE(shards.of(0).is_defined());
    }
}

// If this fails, a parameter without a gradient on one rank hangs the others, or spoils the mean.
SIMMESH_TEST(GradientShards, AnUndefinedGradientIsZeros, {.mesh = {2}, .schedules = 4}) {
  CutParameters cut({2}, {});
  GradientShards shards(*cut.params, {.averages = false});
  shards.add(0, mesh.get_rank() == 0 ? tensor_of<float>({2}, {4, 8}) : Tensor());
  EXPECT_FALSE(shards.is_empty());
  shards.flush();
  EXPECT_TRUE(shards.is_empty());
  EXPECT_THAT(shards.of(0).values<float>(), ElementsAre(mesh.get_rank() == 0 ? 4 : 8));
}

}  // namespace
}  // namespace simmesh::zero
