#include "core/ops/kernels/function_op.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/ops/call.h"
#include "core/tensor/tensor.h"

namespace simmesh {
namespace {

// If this fails, a function of integers or of strided tensors computes something else.
TEST(FunctionOp, IsTheFunctionOfWholeTensors) {
  Op root = function_op(Function::sqrt);
  EXPECT_EQ(root.name, "sqrt");
  Tensor x = tensor_of<std::int64_t>({2, 2}, {4, 9, 16, 25});
  EXPECT_EQ(to_string(call_one(root, {x.transpose(0, 1)})), "float32[2, 2] {2, 4, 3, 5}");
  EXPECT_EQ(call_one(root, {tensor_of<double>({1}, {2.0})}).values<double>()[0], std::sqrt(2.0));
}

// If this fails, an op that is made of several functions rounds after each of them.
TEST(FunctionOp, AMadeOneComputesInDoubleAndRoundsOnce) {
  Op near_one = made_op("near_one", double_loops<1>([](double x) { return (x + 1) - x; }));
  EXPECT_EQ(to_string(call_one(near_one, {tensor_of<float>({1}, {0x1p30f})})), "float32[1] {1}");
  EXPECT_EQ(to_string(call_one(near_one, {tensor_of<std::int64_t>({1}, {5})})), "float32[1] {1}");
}

}  // namespace
}  // namespace simmesh
