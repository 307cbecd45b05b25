#include "core/ops/reductions/membership.h"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(Membership, FindsElements) {
  Tensor x = tensor_of<float>({4}, {1, 2, 3, NAN}), set = tensor_of<float>({3}, {3, NAN, 1});
  EXPECT_EQ(to_string(isin(x, set)), "bool[4] {true, false, true, false}");
  EXPECT_EQ(to_string(isin(x, set, true)), "bool[4] {false, true, false, true}");
  Tensor large = tensor_of<std::int64_t>({2}, {9007199254740993, 9007199254740992});
  EXPECT_EQ(to_string(isin(large, tensor_of<std::int64_t>({1}, {9007199254740993}))),
            "bool[2] {true, false}");
}

TEST(Membership, Counts) {
  Tensor x = tensor_of<std::int64_t>({4}, {0, 2, 2, 1});
  EXPECT_EQ(to_string(bincount(x)), "int64[3] {1, 1, 2}");
  EXPECT_EQ(to_string(bincount(x, {}, 4)), "int64[4] {1, 1, 2, 0}");
  EXPECT_EQ(to_string(bincount(x, tensor_of<float>({4}, {1, 2, 3, 4}))), "float32[3] {1, 4, 5}");
  expect_error([] { bincount(tensor_of<std::int64_t>({1}, {-1})); }, ErrorKind::runtime_error);
  expect_error([] { bincount(zeros({2}, DType::float32)); }, ErrorKind::runtime_error);
}

}  // namespace
}  // namespace simmesh
