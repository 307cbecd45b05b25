#include "sharding/validate/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/registry/registry.h"
#include "sharding/validate/validate_report.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// If a rule of the library didn't hold, sharding an op would change its numbers.
TEST(Validate, NoRuleOfTheLibraryIsWrong) {
  ValidateRequest request{.ops = {}, .options = {.finds_missing = false}, .jobs = 2};
  ValidateResult result = validate(request);
  EXPECT_EQ(result.counts().wrong, 0u) << to_text(result, request, false);
  EXPECT_GT(result.counts().rules, 1000u);
  EXPECT_EQ(result.ops.size(), all_ops().size());
}

// If a call's trials were all refused, none of its rules would be judged.
TEST(Validate, EveryCallIsTriedOnEveryNumberOfRanks) {
  ValidateResult result = validate({.ops = {}, .options = {.finds_missing = false}, .jobs = 2});
  for (const OpVerdict& op : result.ops) {
    if (op.way == OpVerdict::Way::none || op.way == OpVerdict::Way::decomposed) continue;
    for (const SampleVerdict& sample : op.samples) EXPECT_GE(sample.trials, 8u) << sample.call;
  }
}

TEST(Validate, JobsChangeNothing) {
  std::vector<std::string> ops = {"add", "mm", "sum", "transpose"};
  ValidateRequest one{.ops = ops, .options = {}}, three{.ops = ops, .options = {}, .jobs = 3};
  EXPECT_EQ(to_text(validate(one), one, false), to_text(validate(three), three, false));
}

TEST(Validate, SeedsChangeTheDataNotTheVerdict) {
  ValidateRequest request{.ops = {"add", "sum"}, .options = {.seed = 11}};
  ValidateResult result = validate(request);
  EXPECT_TRUE(result.ok());
  EXPECT_GT(result.counts().combinations, 0u);
}

// If what is missing depended on the seed, some of it would hold by chance.
TEST(Validate, SeedsDontChangeWhatIsMissing) {
  auto missing_with = [](std::uint64_t seed) {
    std::vector<std::string> rules;
    ValidateRequest request{.ops = {"any", "floor", "mm", "where"}, .options = {.seed = seed}};
    for (const OpVerdict& op : validate(request).ops)
      for (const SampleVerdict& sample : op.samples)
        for (const std::string& rule : sample.missing) rules.push_back(sample.call + rule);
    return rules;
  };
  EXPECT_EQ(missing_with(0), missing_with(5));
  EXPECT_FALSE(missing_with(0).empty());
}

TEST(Validate, RefusesAnUnknownOp) {
  testing::expect_error([] { validate({.ops = {"ad"}, .options = {}}); }, ErrorKind::value_error,
                        "expected the name of an op, got 'ad'");
}

TEST(Validate, EndsEarlyWhenAsked) {
  ValidateRequest request{.ops = {"add"}, .options = {}};
  request.goes_on = [](const RunProgress& progress) { return progress.done < 1; };
  EXPECT_TRUE(validate(request).interrupted);
}

TEST(ValidateReport, NamesWhatIsWrongAndHowToRepeatIt) {
  ValidateResult result;
  SampleVerdict sample;
  sample.call = "sum(ab; dims=[0])";
  sample.rules["S(0) -> R"].wrong = CounterExample{"2", "float64[3, 5] S(0)", "output 0 differs"};
  sample.rules["S(1) -> S(0)"] = {};
  sample.missing = {"P(sum) -> P(sum)"};
  result.ops.push_back({"sum", OpVerdict::Way::rules, {sample}});
  ValidateRequest request{.ops = {}, .options = {.seed = 3}};
  EXPECT_EQ(to_text(result, request, false),
            "FAIL sum (rules): 2 rules of 1 calls, 1 wrong, 1 missing\n"
            "  wrong sum(ab; dims=[0]): S(0) -> R\n"
            "    on a mesh 2 with float64[3, 5] S(0): output 0 differs\n"
            "  missing sum(ab; dims=[0]): P(sum) -> P(sum)\n"
            "  reproduce: simmesh validate sum --seed 3\n"
            "2 rules, 1 wrong, 1 missing\n");
  EXPECT_EQ(to_text(result, request, true), "2 rules, 1 wrong, 1 missing\n");
  EXPECT_FALSE(result.ok());
}

}  // namespace
}  // namespace simmesh
