#include "core/tensor/vector_of.h"

#include <gtest/gtest.h>
#include <vector>

#include "core/memory/data_mode.h"

namespace simmesh {
namespace {

// Values in another order or dtype would be other places.
TEST(VectorOf, HasTheValues) {
  std::vector<std::int64_t> places = {3, 1, 2};
  Tensor vector = vector_of<std::int64_t>(places);
  EXPECT_EQ(vector.shape(), Shape({3}));
  EXPECT_EQ(vector.dtype(), DType::int64);
  auto values = vector.values<std::int64_t>();
  EXPECT_EQ(std::vector<std::int64_t>(values.begin(), values.end()), places);
  EXPECT_EQ(vector_of<double>({0.5}).values<double>()[0], 0.5);
  EXPECT_EQ(vector_of<float>({}).numel(), 0);
}

// A rank of shapes only has no elements to write.
TEST(VectorOf, IsAShapeWhereThereAreOnlyShapes) {
  DataModeScope shapes(true);
  Tensor vector = vector_of<double>({1, 2});
  EXPECT_EQ(vector.shape(), Shape({2}));
  EXPECT_FALSE(vector.has_elements());
}

}  // namespace
}  // namespace simmesh
