#include "core/ops/call.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/check.h"
#include "core/check/error.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "core/ops/attributes.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/op.h"

namespace simmesh {
namespace {

Tensor two() { return tensor_of<float>({2}, {3, 4}); }

constexpr Attribute<double> factor{"factor"};

// An op of one's own: its only definition is this value.
Op scaling_op(Saves saves = {.inputs = 0b1}) {
  return {
      .name = "my::scaled",
      .shape = [](auto inputs, const Attributes&) { return TensorTypes{inputs[0]}; },
      .kernel =
          [](auto inputs, const Attributes& attributes, auto outputs) {
            copy_(outputs[0], mul(inputs[0], attributes.get_or(factor, 2.0)));
          },
      .gradient = {[](const GradientCall& call) {
                     call.input(0);
                     return Gradients{mul(call.gradient(), call.attributes().get_or(factor, 2.0))};
                   },
                   saves}};
}

TEST(Call, RunsAnOpOfOnesOwnAndItsGradient) {
  Op op = scaling_op();
  Tensor x = two();
  set_requires_grad(x);
  Tensor y = call_one(op, {x}, {factor = 10.0});
  EXPECT_TRUE(same_bits(y.detach(), tensor_of<float>({2}, {30, 40})));
  backward(y, {.gradients = {tensor_of<float>({2}, {1, 1})}});
  EXPECT_TRUE(same_bits(grad_of(x), tensor_of<float>({2}, {10, 10})));
}

TEST(Call, AGradientRuleMayOnlyReadWhatTheOpSaves) {
  Op op = scaling_op({});
  Tensor x = two();
  set_requires_grad(x);
  Tensor y = call_one(op, {x});
  EXPECT_THROW(backward(y, {.gradients = {two()}}), ContractViolation);
}

// A shape rule that is asked each time costs more than a small kernel; one that isn't asked of
// other inputs gives them the shape of the first.
TEST(Call, KnownAsksTheShapeRuleOncePerTypes) {
  Op op = scaling_op();
  int asked = 0;
  op.shape = [&](auto inputs, const Attributes&) {
    ++asked;
    return TensorTypes{inputs[0]};
  };
  KnownTypes known;
  auto scaled = [&](const Tensor& x) {
    return call_known(op, {&x, 1}, {factor = 3.0}, known).front();
  };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(scaled(two()), tensor_of<float>({2}, {9, 12})));
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(same_bits(scaled(tensor_of<float>({1}, {5})), tensor_of<float>({1}, {15})));
  EXPECT_TRUE(same_bits(scaled(tensor_of<double>({1}, {5})), tensor_of<double>({1}, {15})));
  EXPECT_EQ(asked, 3);
}

// The other parts of a call are left out besides the shape rule: the tape, or the meta device.
TEST(Call, KnownRecordsTheTapeAndRunsNoKernelOfMetaTensors) {
  Op op = scaling_op();
  KnownTypes known;
  Tensor x = two();
  set_requires_grad(x);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(call_known(op, {&x, 1}, {}, known).front().requires_grad());
    Tensor plain = two();
    EXPECT_FALSE(call_known(op, {&plain, 1}, {}, known).front().requires_grad());
  }
  op.kernel = [](auto, const Attributes&, auto) { FAIL() << "the kernel ran"; };
  Tensor meta = empty_meta(Dims{2}, DType::float32);
  EXPECT_TRUE(call_known(op, {&meta, 1}, {}, known).front().is_meta());
}

// An op's refusal is kept as if it were an answer.
TEST(Call, KnownRefusesEachTime) {
  Op op = scaling_op();
  op.shape = [](auto, const Attributes&) -> TensorTypes {
    raise(ErrorKind::value_error, "my::scaled", "expected another shape");
  };
  KnownTypes known;
  Tensor x = two();
  for (int i = 0; i < 2; ++i) EXPECT_THROW(call_known(op, {&x, 1}, {}, known), Error);
}

TEST(Call, OfMetaTensorsRunsNoKernel) {
  Op op = scaling_op();
  op.kernel = [](auto, const Attributes&, auto) { FAIL() << "the kernel ran"; };
  Tensor y = call_one(op, {empty_meta(Dims{5}, DType::float32)});
  EXPECT_TRUE(y.is_meta());
  EXPECT_EQ(y.shape(), (Shape{5}));
}

TEST(Call, InfersTypesWithoutTensors) {
  std::vector<TensorType> types{{{5}, DType::float32}};
  EXPECT_EQ(infer_types(scaling_op(), types), types);
}

TEST(Call, InPlaceWritesIntoTheTensorAndItsViews) {
  Op op = scaling_op();
  Tensor x = two(), view = x.narrow({0, 1, 1});
  call_in_place(op, x, gsl::span<const Tensor>(&x, 1));
  EXPECT_EQ(view.values<float>()[0], 8);
  Tensor out = two();
  call_into(op, out, gsl::span<const Tensor>(&x, 1));
  EXPECT_EQ(out.values<float>()[0], 12);
  set_requires_grad(x);
  EXPECT_THROW(call_into(op, out, gsl::span<const Tensor>(&x, 1)), Error);
}

TEST(ComputeMode, BelongsToARankAndEndsWithItsScopes) {
  EXPECT_EQ(current_arithmetic().name(), "canonical");
  World world({.ranks = 2, .arithmetic = Arithmetic::exact()});
  Outcome outcome = world.run([](Rank& rank) {
    EXPECT_EQ(current_arithmetic().name(), "exact");
    if (rank.id() == 0) {
      NoGrad mode;
      Arithmetic ring = Arithmetic::as_gloo_ring();
      ArithmeticScope scope(ring);
      rank.run().yield(rank, CallSite::here());
      EXPECT_FALSE(grad_enabled());
      EXPECT_EQ(current_arithmetic().name(), "as_gloo_ring");
    } else {
      rank.run().yield(rank, CallSite::here());
      EXPECT_TRUE(grad_enabled());
      EXPECT_EQ(current_arithmetic().name(), "exact");
    }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_TRUE(grad_enabled());
}

}  // namespace
}  // namespace simmesh
