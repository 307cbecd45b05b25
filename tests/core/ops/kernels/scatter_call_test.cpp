#include "core/ops/kernels/scatter_call.h"

#include <gtest/gtest.h>

#include "core/ops/attribute_names.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TensorTypes scattered(const TensorTypes& inputs) {
  return scatter_types(inputs, {attribute::dim = 0}, "scatter");
}

// If this fails, a scatter writes beyond its tensor, or reads beyond its source.
TEST(ScatterCall, IndexAndSourceMustFit) {
  TensorType x{{4, 3}, DType::float32}, index{{9, 2}, DType::int64};
  EXPECT_EQ(scattered({x, index}), TensorTypes{x});
  EXPECT_EQ(scattered({x, index, {{9, 3}, DType::float32}}), TensorTypes{x});
  expect_error(
      [&] {
        scattered({x, {{9, 4}, DType::int64}});
      },
      ErrorKind::runtime_error, "an index that fits the tensor, got the shapes [9, 4] and [4, 3]");
  expect_error(
      [&] {
        scattered({x, index, {{8, 3}, DType::float32}});
      },
      ErrorKind::runtime_error, "an index that fits the source, got the shapes [9, 2] and [8, 3]");
  expect_error(
      [&] {
        scattered({x, index, {{9, 3}, DType::float64}});
      },
      ErrorKind::runtime_error, "got float32 and float64");
}

TEST(ScatterCall, TakesWhatTheIndexHasAPlaceFor) {
  Tensor source = tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(to_string(source_within(source, {2, 2})), "float32[2, 2] {1, 2, 4, 5}");
  EXPECT_EQ(to_string(source_within(source, {1, 3})), "float32[1, 3] {1, 2, 3}");
}

}  // namespace
}  // namespace simmesh
