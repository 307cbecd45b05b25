#include "fsdp/communication/divide_factors.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh::fsdp {
namespace {

using simmesh::testing::expect_error;

// PyTorch's table: 6 overshoots its root, since only powers of two are tried.
TEST(DivideFactors, DividesAroundASumByAboutTheRoot) {
  struct Row {
    std::int64_t ranks;
    double before, after;
  };
  for (const Row& row : {Row{1, 1, 1},
                         {2, 2, 1},
                         {3, 2, 1.5},
                         {4, 2, 2},
                         {5, 2, 2.5},
                         {6, 4, 1.5},
                         {7, 2, 3.5},
                         {8, 4, 2},
                         {12, 4, 3},
                         {16, 4, 4},
                         {32, 8, 4},
                         {64, 8, 8},
                         {128, 16, 8},
                         {512, 32, 16}}) {
    DivideFactors factors = divide_factors(
        {.shard_size = row.ranks, .data_parallel_size = row.ranks, .reduce_dtype = DType::float16});
    EXPECT_EQ(factors.before, row.before) << row.ranks;
    EXPECT_EQ(factors.after, row.after) << row.ranks;
    EXPECT_EQ(factors.reduce_scatter.op, ReduceOp::sum);
  }
}

TEST(DivideFactors, LetsTheCollectiveAverageInFloat32) {
  DivideFactors mean = divide_factors({.shard_size = 2, .data_parallel_size = 4});
  EXPECT_EQ(mean.reduce_scatter.op, ReduceOp::avg);
  EXPECT_EQ(mean.all_reduce.op, ReduceOp::avg);
  DivideFactors shards = divide_factors({.shard_size = 2, .data_parallel_size = 4, .factor = 2.0});
  EXPECT_EQ(shards.reduce_scatter.op, ReduceOp::avg);
  EXPECT_EQ(shards.all_reduce.op, ReduceOp::sum);
  DivideFactors other = divide_factors({.shard_size = 2, .data_parallel_size = 4, .factor = 8.0});
  EXPECT_EQ(other.reduce_scatter.op, ReduceOp::premul_sum);
  EXPECT_EQ(other.reduce_scatter.factor, 0.125);
}

// PyTorch divides the copy of a single rank by the factor and then again around the sum.
TEST(DivideFactors, DividesOnceOnASingleRank) {
  for (DType dtype : {DType::float32, DType::float64, DType::float16}) {
    for (bool force_sum : {false, true}) {
      DivideFactors factors =
          divide_factors({.reduce_dtype = dtype, .factor = 4.0, .force_sum = force_sum});
      EXPECT_EQ(factors.before * factors.after * factors.copy, 4.0);
    }
  }
}

TEST(DivideFactors, RefusesZeroWhereItsInverseIsAsked) {
  expect_error([] { divide_factors({.shard_size = 2, .data_parallel_size = 2, .factor = 0.0}); },
               ErrorKind::zero_division_error);
  DivideFactors around =
      divide_factors({.data_parallel_size = 2, .factor = 0.0, .force_sum = true});
  EXPECT_EQ(around.before * around.after, 0.0);
}

}  // namespace
}  // namespace simmesh::fsdp
