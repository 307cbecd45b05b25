#include "core/nn/batch_norm.h"

#include <gtest/gtest.h>

#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh::nn {
namespace {

using simmesh::testing::expect_error;

std::string buffer_of(Module& module, std::size_t index) {
  return to_string(module.buffers()[index].tensor);
}

// Running statistics follow the batches in training only, and a state dict holds them.
TEST(BatchNormModules, KeepRunningStatistics) {
  BatchNorm1d norm({.features = 2, .eps = 0, .momentum = 0.5});
  Tensor x = tensor_of<float>({2, 2}, {0, -2, 4, 4});
  EXPECT_EQ(to_string(norm(x)), "float32[2, 2] {-1, -1, 1, 1}");
  EXPECT_EQ(buffer_of(norm, 0), "float32[2] {1, 0.5}");
  EXPECT_EQ(buffer_of(norm, 1), "float32[2] {4.5, 9.5}");
  EXPECT_EQ(buffer_of(norm, 2), "int64[] {1}");
  norm.train(false);
  norm(x);
  EXPECT_EQ(buffer_of(norm, 2), "int64[] {1}");
  std::vector<std::string> names;
  for (const NamedTensor& named : norm.state_dict()) names.push_back(named.first);
  EXPECT_EQ(names, (std::vector<std::string>{"weight", "bias", "running_mean", "running_var",
                                             "num_batches_tracked"}));
}

TEST(BatchNormModules, WithoutTrackingUseEachBatch) {
  BatchNorm2d norm({.features = 2, .eps = 0, .affine = false, .track_running_stats = false});
  norm.train(false);
  Tensor x = tensor_of<float>({2, 2, 1, 1}, {0, -2, 4, 4});
  EXPECT_EQ(to_string(norm(x)), "float32[2, 2, 1, 1] {-1, -1, 1, 1}");
  EXPECT_TRUE(norm.state_dict().empty());
}

TEST(BatchNormModules, RefuseOtherNumbersOfDims) {
  BatchNorm1d line({.features = 2});
  BatchNorm2d image({.features = 2});
  expect_error([&] { line(zeros({1, 2, 1, 1}, DType::float32)); }, ErrorKind::value_error);
  expect_error([&] { image(zeros({1, 2, 1}, DType::float32)); }, ErrorKind::value_error);
}

}  // namespace
}  // namespace simmesh::nn
