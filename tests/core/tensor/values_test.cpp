#include "core/tensor/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "core/tensor/tensor.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

TEST(Values, ReadAndWriteElements) {
  Tensor x = tensor_of<float>({2, 2}, {1, 2, 3, 4});
  x.mutable_values<float>()[std::size_t(2)] = 7;
  EXPECT_EQ(x.values<float>()[2], 7);
  gsl::span<const float> span = x.values<float>();
  EXPECT_EQ(span.size(), 4u);
}

// If this fails, a wrong index ends the program, or writes into another tensor.
TEST(Values, AnIndexThatIsNotThereNamesRankIndexAndLine) {
  World world({.ranks = 3});
  int line = 0;
  Outcome outcome = world.run([&](Rank& rank) {
    Tensor x = zeros({4}, DType::float32);
    line = __LINE__ + 1;
    if (rank.id() == 2) x.mutable_values<float>()[10] = 1;
  });
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->message,
            "[tensor/values] rank 2: expected an index below 4, the number of elements, got 10 at "
            "values_test.cpp:" +
                std::to_string(line));
  Tensor x = zeros({4}, DType::int64);
  EXPECT_THROW(x.values<std::int64_t>()[-1], Error);
  EXPECT_THROW(x.values<std::int64_t>()[4], Error);
  EXPECT_THROW(zeros({0}, DType::int64).values<std::int64_t>()[0], Error);
}

}  // namespace
}  // namespace simmesh
