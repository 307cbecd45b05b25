#include "verify/typed/local_op.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"
#include "verify/typed/rank_values.h"

namespace simmesh {
namespace {

Tensor counted_tensor(std::initializer_list<std::int64_t> shape) {
  Tensor x = empty(shape, DType::float64);
  double next = 1;
  for (double& value : x.mutable_values<double>()) value = next++;
  return x;
}

double first_element(const Tensor& x) { return x.contiguous().values<double>()[0]; }

// If this fails, a form of an operation computes another one.
TEST(LocalOp, ComputesTheFormsByName) {
  Tensor x = counted_tensor({2, 2});
  EXPECT_EQ(first_element(run_local_op("scalar_sub", {5.0, x}, {})[0]), 4);
  EXPECT_EQ(first_element(run_local_op("scalar_div", {5.0, x}, {})[0]), 5);
  EXPECT_EQ(first_element(run_local_op("div_scalar_floor", {x, 2.0}, {})[0]), 0);
  EXPECT_EQ(first_element(run_local_op("alias_getitem", {x}, {})[0]), 1);
  EXPECT_EQ(first_element(run_local_op("slice_getitem", {x}, {})[0]), 2);
  EXPECT_EQ(first_element(run_local_op("einsum3", {x, x, x}, {})[0]), 37);
  EXPECT_EQ(run_local_op("cat3", {x, x, x}, {{"dim", std::int64_t(1)}})[0].shape(), (Shape{2, 6}));
  EXPECT_EQ(run_local_op("dsplit", {x}, {}).size(), 2u);
  EXPECT_EQ(
      run_local_op("view", {x}, {{"shape", std::vector<PythonValue>{std::int64_t(4)}}})[0].shape(),
      (Shape{4}));
}

TEST(LocalOp, LeavesTheOperandOfOneInPlace) {
  Tensor x = counted_tensor({2});
  EXPECT_EQ(first_element(run_local_op("add_scalar_", {x, 2.0}, {})[0]), 3);
  EXPECT_EQ(first_element(run_local_op("neg_", {x}, {})[0]), -1);
  EXPECT_EQ(first_element(x), 1);
}

// If this fails, ranks that draw numbers of their own look alike.
TEST(LocalOp, DrawsByTheSeed) {
  Tensor x = counted_tensor({64});
  auto drawn = [&](std::uint64_t seed) { return run_local_op("rand_like", {x}, {}, seed)[0]; };
  EXPECT_TRUE(draws_numbers("rand_like"));
  EXPECT_TRUE(same_values(drawn(1), drawn(1)));
  EXPECT_FALSE(same_values(drawn(1), drawn(2)));
}

TEST(LocalOp, NamesWhatItCantRun) {
  Tensor x = counted_tensor({2});
  testing::expect_error([&] { run_local_op("no_such_op", {x}, {}); },
                        ErrorKind::not_implemented_error, "got 'no_such_op'");
  testing::expect_error(
      [&] {
        run_local_op("einsum", {x, x}, {{"dim", std::int64_t(0)}});
      },
      ErrorKind::type_error, "expected no arguments of einsum, got 'dim'");
  testing::expect_error([&] { run_local_op("zeros_like", {}, {}); }, ErrorKind::type_error,
                        "expected at least 1 operands, got 0");
  testing::expect_error([&] { run_local_op("slice_getitem", {x}, {}); }, ErrorKind::index_error,
                        "expected a tensor with a dim 1");
}

}  // namespace
}  // namespace simmesh
