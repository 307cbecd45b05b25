#include "sharding/rules/rule_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::Contains;

// If this fails, authors must write their functions in one certain form.
TEST(RuleFunction, IsMadeOfFunctionsOfTensors) {
  Tensor x = formula({2}, {.seed = 1}), inputs[] = {x, x};
  RuleFunction one = [](const Tensor& a) { return a * 2; };
  RuleFunction two = [](const auto& a, const auto& b) { return std::vector{a + b, a}; };
  RuleFunction any = [](RuleFunction::Inputs all) { return all[1]; };
  EXPECT_TRUE(same_bits(one.call({inputs, 1})[0], x * 2));
  EXPECT_EQ(two.call(inputs).size(), 2u);
  EXPECT_TRUE(same_bits(any.call(inputs)[0], x));
  for (const RuleFunction& function : {one, two, any}) EXPECT_FALSE(function.communicates());
  RuleFunction ranks = [](const Tensor& a, const DeviceMesh&) { return a; };
  RuleFunction span = [](RuleFunction::Inputs all, const DeviceMesh&) { return all[0]; };
  EXPECT_TRUE(ranks.communicates());
  EXPECT_TRUE(span.communicates());
}

TEST(RuleFunction, RefusesOtherCountsAndNoTensor) {
  RuleFunction one = [](const Tensor& a) { return a; };
  Tensor x = formula({2}, {}), inputs[] = {x, x};
  testing::expect_error([&] { one.call(inputs); }, ErrorKind::value_error,
                        "expected 1 inputs, as the function takes, got 2");
  RuleFunction none = [](const Tensor&) { return Tensor(); };
  testing::expect_error(
      [&] {
        none.call({inputs, 1});
      },
      ErrorKind::type_error, "expected a function that returns tensors");
}

// If this fails, the library's own rules can't be checked by name.
TEST(RuleFunction, OpsOfTheLibraryHaveNames) {
  Tensor x = formula({2, 2}, {.seed = 1}), inputs[] = {x, x};
  EXPECT_EQ(registered_op("mm").call(inputs)[0].shape(), (Shape{2, 2}));
  const std::vector<RuleInput> dims = {"mk", "kn"};
  RuleText rule = registered_rule("mm", dims);
  EXPECT_THAT(rule.rows, Contains("S(1), S(0) -> P(sum)"));
  testing::expect_error([] { registered_op("no_op"); }, ErrorKind::value_error,
                        "expected the name of an op, got 'no_op'");
  testing::expect_error([&] { registered_rule("no_op", dims); }, ErrorKind::value_error,
                        "expected the name of an op");
}

}  // namespace
}  // namespace simmesh
