#include "core/ops/functions/runs.h"

#include <gtest/gtest.h>
#include <limits>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

constexpr float run_nan = std::numeric_limits<float>::quiet_NaN();

std::string in_words(const Runs& runs) {
  return to_string(runs.values.contiguous()) + " " + to_string(runs.inverse) + " " +
         to_string(runs.counts);
}

// If this fails, an element is counted in another run than its own.
TEST(Runs, OfAllElements) {
  EXPECT_EQ(in_words(unique_consecutive(tensor_of<std::int64_t>({2, 3}, {1, 1, 2, 2, 1, 1}))),
            "int64[3] {1, 2, 1} int64[2, 3] {0, 0, 1, 1, 2, 2} int64[3] {2, 2, 2}");
  EXPECT_EQ(in_words(unique_consecutive(tensor_of<float>({}, {3}))),
            "float32[1] {3} int64[] {0} int64[1] {1}");
  EXPECT_EQ(to_string(unique_consecutive(tensor_of<float>({2}, {run_nan, run_nan})).counts),
            "int64[2] {1, 1}");
  EXPECT_EQ(in_words(unique_consecutive(zeros({0}, DType::float32))),
            "float32[0] {} int64[0] {} int64[0] {}");
}

TEST(Runs, OfSlices) {
  Tensor x = tensor_of<float>({3, 3}, {1, 1, 2, 1, 1, 2, 3, 3, 3});
  EXPECT_EQ(in_words(unique_consecutive(x, 0)),
            "float32[2, 3] {1, 1, 2, 3, 3, 3} int64[3] {0, 0, 1} int64[2] {2, 1}");
  EXPECT_EQ(in_words(unique_consecutive(x, -1)),
            "float32[3, 2] {1, 2, 1, 2, 3, 3} int64[3] {0, 0, 1} int64[2] {2, 1}");
  testing::expect_error([&] { unique_consecutive(x, 2); }, ErrorKind::index_error);
}

}  // namespace
}  // namespace simmesh
