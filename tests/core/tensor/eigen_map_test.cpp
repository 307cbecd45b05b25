#include "core/tensor/eigen_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"
#include "tests/expect_error.h"

// A map that read or wrote another element than the tensor's would be a silent wrong result.
namespace simmesh {
namespace {

using testing::error_text;

Tensor counting(Shape shape) {
  Tensor result = empty(DimSpan(shape), DType::float32);
  float next = 0;
  for (float& value : result.mutable_values<float>()) value = next++;
  return result;
}

// Every view of at most two dims is read at the places of its logical elements.
TEST(EigenMap, ReadsViewsWithAnyStrides) {
  Tensor x = counting({4, 6});
  Tensor views[] = {x,
                    x.transpose(0, 1),
                    x.narrow({.dim = 1, .start = 2, .length = 3}),
                    x.narrow({.dim = 0, .start = 1, .length = 2}).transpose(0, 1),
                    counting({2, 3, 4}).permute(Dims{2, 0, 1}).narrow({1, 1, 1}).squeeze(1),
                    expand(counting({1, 3}), Dims{4, 3}),
                    x.narrow({.dim = 0, .start = 0, .length = 0})};
  for (const Tensor& view : views) {
    auto map = eigen_map<float>(view);
    Tensor rows = view.contiguous();
    ASSERT_EQ(map.rows(), view.size(0));
    ASSERT_EQ(map.cols(), view.size(1));
    for (std::int64_t i = 0; i < map.size(); ++i)
      EXPECT_EQ(map(i / map.cols(), i % map.cols()), rows.values<float>()[std::size_t(i)]);
  }
}

TEST(EigenMap, ReadsVectorsAndScalars) {
  Tensor column = counting({3, 4}).narrow({.dim = 1, .start = 1, .length = 1}).squeeze(1);
  EXPECT_EQ(eigen_map<float>(column).cols(), 1);
  EXPECT_EQ(eigen_map<float>(column)(2, 0), 9.0f);
  EXPECT_EQ(eigen_vector_map<float>(column).dot(Eigen::Vector3f(1, 1, 1)), 15.0f);
  EXPECT_EQ(eigen_map<std::int64_t>(full({}, DType::int64, 7))(0, 0), 7);
}

TEST(EigenMap, WritesThroughViews) {
  Tensor x = counting({2, 3});
  Tensor view = x.transpose(0, 1).narrow({.dim = 0, .start = 1, .length = 2});
  mutable_eigen_map<float>(view) *= -1.0f;
  EXPECT_TRUE(same_bits(x, tensor_of<float>({2, 3}, {0, -1, -2, 3, -4, -5})));
  Tensor row = x.narrow({.dim = 0, .start = 1, .length = 1}).squeeze(0);
  mutable_eigen_vector_map<float>(row).setZero();
  EXPECT_TRUE(same_bits(x, tensor_of<float>({2, 3}, {0, -1, -2, 0, 0, 0})));
}

// Bytes that others share stay as they are.
TEST(EigenMap, CopiesOnWriteOnly) {
  Tensor x = counting({2, 2}), y = x.clone();
  EXPECT_EQ(eigen_map<float>(y).data(), eigen_map<float>(x).data());
  mutable_eigen_map<float>(y)(0, 0) = 5;
  EXPECT_EQ(x.values<float>()[0], 0.0f);
  EXPECT_EQ(y.values<float>()[0], 5.0f);
}

// The tape must notice a change of what it saved.
TEST(EigenMap, AWriteIsSeenByTheTape) {
  Tensor x = counting({2, 2});
  set_requires_grad(x);
  Tensor y = full({2, 2}, DType::float32, 2);
  Tensor product = sum(mul(x, y));
  mutable_eigen_map<float>(y).setConstant(3);
  EXPECT_THAT(error_text([&] { backward(product); }),
              ::testing::HasSubstr("modified by an inplace operation"));
}

TEST(EigenMap, RefusesWhatItCanNotMap) {
  Tensor x = counting({2, 3});
  EXPECT_EQ(error_text([&] { eigen_map<double>(x); }),
            "[tensor/eigen_map] expected float64, got float32");
  EXPECT_EQ(error_text([&] {
              eigen_map<float>(counting({1, 2, 3}));
            }),
            "[tensor/eigen_map] expected at most 2 dims, got the shape [1, 2, 3]");
  EXPECT_EQ(error_text([&] { eigen_vector_map<float>(x); }),
            "[tensor/eigen_map] expected at most 1 dims, got the shape [2, 3]");
  EXPECT_EQ(error_text([&] { eigen_map<float>(Tensor()); }),
            "[tensor/eigen_map] expected a tensor with elements of its own, got an undefined one");
  Tensor backwards(x.storage(), DType::float32, Shape{3}, Strides{-1}, 2);
  EXPECT_EQ(error_text([&] { eigen_map<float>(backwards); }),
            "[tensor/eigen_map] expected strides of at least 0, got [-1]");
}

// Which places coincide is found exactly: compared with a look at all of them.
TEST(EigenMap, RefusesWritesToPlacesThatElementsShare) {
  Tensor x = zeros({64}, DType::float32);
  int refused = 0, allowed = 0;
  for (std::int64_t rows = 1; rows <= 3; ++rows)
    for (std::int64_t columns = 1; columns <= 4; ++columns)
      for (std::int64_t outer = 0; outer <= 6; ++outer)
        for (std::int64_t inner = 0; inner <= 4; ++inner) {
          std::vector<std::int64_t> places;
          for (std::int64_t i = 0; i < rows * columns; ++i)
            places.push_back(i / columns * outer + i % columns * inner);
          std::sort(places.begin(), places.end());
          bool shared = std::adjacent_find(places.begin(), places.end()) != places.end();
          Tensor view(x.storage(), DType::float32, Shape{rows, columns}, Strides{outer, inner}, 0);
          std::string error = error_text([&] { mutable_eigen_map<float>(view); });
          EXPECT_EQ(!error.empty(), shared) << error;
          shared ? ++refused : ++allowed;
        }
  EXPECT_GT(refused, 100);
  EXPECT_GT(allowed, 100);
}

}  // namespace
}  // namespace simmesh
