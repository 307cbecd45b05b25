#include "core/ops/kernels/unrounded_pointwise.h"

#include <gtest/gtest.h>

#include "core/arithmetic/unrounded.h"
#include "core/engine/options/arithmetic.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/tensor/tensor.h"

namespace simmesh {
namespace {

Op plain_sum() {
  return pointwise_op(
      {.name = "plain_sum",
       .slots = {{attribute::self}, {attribute::other}, {attribute::alpha, false, 1}},
       .loops = loops<3>([](auto a, auto b, auto alpha) { return plus(a, times(alpha, b)); })});
}

const Arithmetic& exactly() {
  static const Arithmetic exact = Arithmetic::exact();
  return exact;
}

float first_of(const Tensor& x) { return x.values<float>()[0]; }

// If this fails, what a rank adds in between is rounded, and a sum over ranks depends on how its
// terms were grouped.
TEST(UnroundedPointwise, AddsWithoutRoundingInTheScope) {
  ArithmeticScope arithmetic(exactly());
  Op sum = adding_unrounded(plain_sum());
  Tensor large = tensor_of<float>({1}, {0x1p30f}), small = tensor_of<float>({1}, {1}),
         opposite = tensor_of<float>({1}, {-0x1p30f});
  EXPECT_EQ(first_of(call_one(sum, {call_one(sum, {large, small}), opposite})), 0);
  KeepUnrounded scope;
  EXPECT_EQ(first_of(call_one(sum, {call_one(sum, {large, small}), opposite})), 1);
  EXPECT_EQ(
      first_of(call_one(sum, {call_one(sum, {large, small}, {attribute::alpha = 3.0}), opposite})),
      3);
}

TEST(UnroundedPointwise, DividesWhatIsBehindASum) {
  ArithmeticScope arithmetic(exactly());
  Op sum = adding_unrounded(plain_sum());
  Op quotient = dividing_unrounded(
      pointwise_op({.name = "plain_quotient",
                    .slots = {{attribute::self}, {attribute::other}},
                    .loops = floating_loops<2>([](auto a, auto b) { return a / b; })}));
  Tensor large = tensor_of<float>({1}, {0x1p30f}), small = tensor_of<float>({1}, {1}),
         opposite = tensor_of<float>({1}, {-0x1p28f});
  KeepUnrounded scope;
  Tensor quarter = call_one(quotient, {call_one(sum, {large, small})}, {attribute::other = 4.0});
  EXPECT_EQ(first_of(call_one(sum, {quarter, opposite})), 0.25f);
}

}  // namespace
}  // namespace simmesh
