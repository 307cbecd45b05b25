#include <gtest/gtest.h>

#include "core/ops/neural/losses.h"

namespace simmesh {
namespace {

// If this fails, a loss counts a target that is to be ignored, or looks it up as a class.
TEST(ClassTargets, IgnoredOnesHaveNoWeightAndAHarmlessIndex) {
  Tensor target = tensor_of<std::int64_t>({3}, {2, -100, 0});
  ClassTargets found = class_targets(target, class_dim(2), -100);
  EXPECT_EQ(to_string(found.indices), "int64[3, 1] {2, 0, 0}");
  EXPECT_EQ(to_string(found.ignored), "bool[3, 1] {false, true, false}");
  Tensor weight = tensor_of<float>({3}, {0.5f, 7, 0.25f});
  EXPECT_EQ(to_string(target_weights(found, weight, DType::float32)),
            "float32[3, 1] {0.25, 0, 0.5}");
  EXPECT_EQ(to_string(target_weights(found, Tensor(), DType::float64)), "float64[3, 1] {1, 0, 1}");
}

TEST(ClassTargets, AVectorOfScoresHasClassesOnly) {
  EXPECT_EQ(class_dim(1), 0);
  EXPECT_EQ(class_dim(4), 1);
}

}  // namespace
}  // namespace simmesh
