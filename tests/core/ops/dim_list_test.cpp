#include "core/ops/dim_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

Dims dims_of(const DimList& list) { return list.dims(); }

TEST(DimList, IsOneDimOrAListOfThem) {
  EXPECT_THAT(dims_of(-1), ElementsAre(-1));
  EXPECT_THAT(dims_of({0, -1}), ElementsAre(0, -1));
  EXPECT_THAT(dims_of(Dims{2, 1}), ElementsAre(2, 1));
  EXPECT_TRUE(dims_of({}).empty());
}

// If this fails, an op reduces along another dim than the one that was asked for.
TEST(DimList, DimsCountFromEitherEnd) {
  EXPECT_EQ(wrapped_dim(0, 3), 0);
  EXPECT_EQ(wrapped_dim(-1, 3), 2);
  EXPECT_EQ(wrapped_dim(-1, 0), 0);
  EXPECT_THAT(wrapped_dims(Dims{-1, 0}, 3), ElementsAre(0, 2));
  EXPECT_THAT(wrapped_dims(Dims{}, 3), ElementsAre(0, 1, 2));
  EXPECT_TRUE(wrapped_dims(Dims{-1}, 0).empty());
}

TEST(DimList, RefusesDimsThatArentThereOrComeTwice) {
  expect_error([] { wrapped_dim(3, 3); }, ErrorKind::index_error,
               "expected to be in range of [-3, 2], but got 3");
  expect_error([] { wrapped_dim(-2, 0); }, ErrorKind::index_error, "range of [-1, 0]");
  expect_error(
      [] {
        wrapped_dims(Dims{1, -2}, 3);
      },
      ErrorKind::runtime_error, "dim 1 appears multiple times");
}

}  // namespace
}  // namespace simmesh
