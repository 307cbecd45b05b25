#include "core/ops/reductions/sorting.h"

#include <gtest/gtest.h>
#include <limits>

#include "core/check/error.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {
namespace {

const float float_nan = std::numeric_limits<float>::quiet_NaN();

TEST(Sorting, EqualElementsKeepTheirOrderInBothDirections) {
  Tensor x = tensor_of<float>({5}, {1, 0, 1, 0, 1});
  EXPECT_EQ(to_string(sort(x).indices), "int64[5] {1, 3, 0, 2, 4}");
  EXPECT_EQ(to_string(sort(x, 0, true).indices), "int64[5] {0, 2, 4, 1, 3}");
  EXPECT_EQ(to_string(sort(x, 0, true).values), "float32[5] {1, 1, 1, 0, 0}");
}

TEST(Sorting, NanIsTheGreatest) {
  Tensor x = tensor_of<float>({3}, {float_nan, 1, INFINITY});
  EXPECT_EQ(to_string(argsort(x)), "int64[3] {1, 2, 0}");
  EXPECT_EQ(to_string(argsort(x, -1, true)), "int64[3] {0, 2, 1}");
}

TEST(Sorting, SortsEachRowOfADimAndEachDtype) {
  for (DType dtype : all_dtypes) {
    Tensor x = converted(tensor_of<std::int64_t>({2, 2}, {1, 0, 0, 1}), dtype);
    Sorted sorted = sort(x, 0);
    EXPECT_TRUE(
        same_bits(sorted.values, converted(tensor_of<std::int64_t>({2, 2}, {0, 0, 1, 1}), dtype)));
    EXPECT_EQ(to_string(sorted.indices), "int64[2, 2] {1, 0, 0, 1}");
  }
  EXPECT_EQ(to_string(sort(tensor_of<float>({}, {2})).values), "float32[] {2}");
  EXPECT_EQ(sort(empty({0, 2}, DType::float32), 0).values.shape(), (Shape{0, 2}));
}

TEST(Sorting, TopkTakesTheLowestIndexOfEqualElements) {
  Tensor x = tensor_of<float>({2, 4}, {3, 1, 3, 2, 0, 0, 0, 1});
  Sorted top = topk(x, {.k = 2});
  EXPECT_EQ(to_string(top.values), "float32[2, 2] {3, 3, 1, 0}");
  EXPECT_EQ(to_string(top.indices), "int64[2, 2] {0, 2, 3, 0}");
  EXPECT_EQ(to_string(topk(x, {.k = 1, .dim = 0, .largest = false}).indices),
            "int64[1, 4] {1, 1, 1, 1}");
  EXPECT_EQ(topk(x, {.k = 0}).values.shape(), (Shape{2, 0}));
  EXPECT_THROW(topk(x, {.k = 5}), Error);
}

TEST(Sorting, KthValue) {
  Sorted second = kthvalue(tensor_of<float>({3}, {5, 3, 4}), {.k = 2});
  EXPECT_EQ(to_string(second.values), "float32[] {4}");
  EXPECT_EQ(to_string(second.indices), "int64[] {2}");
  EXPECT_THROW(kthvalue(tensor_of<float>({3}, {5, 3, 4}), {.k = 0}), Error);
}

TEST(Sorting, SearchStandsBeforeOrAfterEqualElements) {
  Tensor edges = tensor_of<float>({3}, {1, 2, 2}),
         values = tensor_of<float>({4}, {0, 2, 3, float_nan});
  EXPECT_EQ(to_string(bucketize(values, edges)), "int64[4] {0, 1, 3, 3}");
  EXPECT_EQ(to_string(bucketize(values, edges, {.right = true, .out_int32 = true})),
            "int32[4] {0, 3, 3, 3}");
  Tensor rows = tensor_of<float>({2, 2}, {1, 3, 2, 4});
  EXPECT_EQ(to_string(searchsorted(rows, tensor_of<float>({2, 1}, {2, 2}))), "int64[2, 1] {1, 0}");
  EXPECT_THROW(searchsorted(rows, tensor_of<float>({1, 1}, {2})), Error);
}

TEST(Sorting, HistogramsIncludeTheUpperEnd) {
  Tensor x = tensor_of<float>({5}, {0, 1, 2, 4, float_nan});
  EXPECT_EQ(to_string(histc(x, {.bins = 2, .low = 0, .high = 4})), "float32[2] {2, 2}");
  EXPECT_EQ(to_string(histc(x, {.bins = 2, .low = 1, .high = 2})), "float32[2] {1, 1}");
  EXPECT_THROW(histc(x, {.bins = 0}), Error);
}

TEST(Sorting, UniqueFindsEachElementAgain) {
  Tensor x = tensor_of<std::int64_t>({2, 2}, {7, 3, 7, 5});
  Unique found = unique(x);
  EXPECT_EQ(to_string(found.values), "int64[3] {3, 5, 7}");
  EXPECT_EQ(to_string(found.inverse), "int64[2, 2] {2, 0, 2, 1}");
  EXPECT_EQ(to_string(found.counts), "int64[3] {1, 1, 2}");
  EXPECT_EQ(unique(empty({0}, DType::float32)).values.shape(), Shape{0});
}

}  // namespace
}  // namespace simmesh
