#include "sharding/validate/local_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "sharding/validate/validate_sample.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// Twice x, with a gradient that may be another function's.
Op doubling(GradientRule gradient) {
  return {.name = "doubling",
          .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
            return {inputs[0]};
          },
          .kernel = [](gsl::span<const Tensor> inputs, const Attributes&,
                       gsl::span<Tensor> outputs) { copy_(outputs[0], inputs[0] * 2); },
          .gradient = {std::move(gradient), {.inputs = 1}},
          .strategy = strategy({rule({Shard(0)}, Shard(0)), rule({Partial()}, Partial()),
                                rule({Partial(ReduceOp::avg)}, Partial(ReduceOp::avg))})};
}

const OpSample rows = {"doubling", "ab"};

TEST(LocalGradient, HoldsForTheGradientOfTheFunction) {
  Op op = doubling([](const GradientCall& call) { return Gradients{call.gradient() * 2}; });
  SampleVerdict verdict = validate_sample(op, rows);
  ASSERT_EQ(verdict.rules.size(), 5u);  // the shard also strided and ragged
  for (const auto& [text, rule] : verdict.rules) {
    EXPECT_FALSE(rule.wrong) << text << rule.wrong->what;
    EXPECT_TRUE(rule.has_gradient) << text;
  }
}

// If gradients weren't compared, a rule could hold forward and train another model.
TEST(LocalGradient, FiresWhereItReadsAPartialInput) {
  Op op =
      doubling([](const GradientCall& call) { return Gradients{call.gradient() * call.input(0)}; });
  SampleVerdict verdict = validate_sample(op, rows);
  ASSERT_TRUE(verdict.rules["P(sum) -> P(sum)"].wrong);
  EXPECT_THAT(verdict.rules["P(sum) -> P(sum)"].wrong->what,
              HasSubstr("for output 0: gradient of input 0 as R"));
  EXPECT_FALSE(verdict.rules["S(0) -> S(0)"].wrong);
}

TEST(LocalGradient, FiresWhereItDependsOnTheShard) {
  Op op = doubling([](const GradientCall& call) {
    return Gradients{call.gradient() * double(call.input_type(0).shape[0])};
  });
  SampleVerdict verdict = validate_sample(op, rows);
  ASSERT_TRUE(verdict.rules["S(0) -> S(0)"].wrong);
  EXPECT_THAT(verdict.rules["S(0) -> S(0)"].wrong->what, HasSubstr("gradient of input 0 as S(0)"));
}

TEST(LocalGradient, IsLeftOutOnRequest) {
  Op op =
      doubling([](const GradientCall& call) { return Gradients{call.gradient() * call.input(0)}; });
  SampleVerdict verdict = validate_sample(op, rows, {.judges_gradients = false});
  EXPECT_FALSE(verdict.rules["P(sum) -> P(sum)"].wrong);
}

}  // namespace
}  // namespace simmesh
