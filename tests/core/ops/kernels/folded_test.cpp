#include "core/ops/kernels/folded.h"

#include <gtest/gtest.h>

#include "core/tensor/formula.h"

namespace simmesh {
namespace {

void expect_sizes(const Folded& found, std::int64_t outer, std::int64_t count, std::int64_t inner) {
  EXPECT_EQ(found.outer, outer);
  EXPECT_EQ(found.count, count);
  EXPECT_EQ(found.inner, inner);
  EXPECT_EQ(found.results(), outer * inner);
}

// If this fails, a reduction adds elements of other results, or copies a tensor for nothing.
TEST(Folded, NeighbouringDimsAreFoldedWhereTheyLie) {
  Tensor x = formula({2, 3, 4, 5}, {});
  Folded middle = folded(x, {1, 2});
  expect_sizes(middle, 2, 12, 5);
  EXPECT_EQ(middle.data.storage(), x.storage());
  expect_sizes(folded(x, {}), 120, 1, 1);
  Folded apart = folded(x, {0, 2});
  expect_sizes(apart, 15, 8, 1);
  EXPECT_NE(apart.data.storage(), x.storage());
}

TEST(Folded, ResultsComeInTheOrderOfTheDimsThatStay) {
  Tensor x = tensor_of<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  auto digits = [](auto sum, auto element) { return 10 * sum + element; };
  Tensor out = empty({2}, DType::float32);
  fold_into(x, {0, 2}, out, digits);
  EXPECT_EQ(to_string(out), "float32[2] {1256, 3478}");
  fold_into(x, {1, 2}, out, digits);
  EXPECT_EQ(to_string(out), "float32[2] {1234, 5678}");
}

TEST(Folded, ReducedDimsGoOrStayWithSizeOne) {
  EXPECT_EQ(reduced_shape({2, 3, 4}, {0, 2}, false), Shape{3});
  EXPECT_EQ(reduced_shape({2, 3, 4}, {0, 2}, true), (Shape{1, 3, 1}));
}

}  // namespace
}  // namespace simmesh
