#include "verify/pytorch/ops/step_compare.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Placements shard0{Shard(0)}, shard1{Shard(1)}, replicate{Replicate()}, pending{Partial()};

FunctionStep step_of(const char* name, const Placements& given, const Placements& used,
                     const Placements& output) {
  return {.op = {name, "default"}, .given = {given}, .used = {used}, .outputs = {output}};
}

SeenOp seen_op(const char* name, const Placements& given, const Placements& used,
               const Placements& output) {
  return {.name = name, .given = {given}, .used = {used}, .outputs = {output}};
}

std::vector<std::string> differences(const std::vector<FunctionStep>& steps,
                                     const std::vector<SeenOp>& seen) {
  CaseReport report;
  compare_steps(steps, seen, report);
  return report.mismatches();
}

// The same operator on the same placements must run on the same ones, with the same results.
TEST(StepCompare, NamesAStepThatRanOtherwise) {
  std::vector<SeenOp> seen{seen_op("sum", shard0, shard0, pending)};
  EXPECT_THAT(differences({step_of("sum", shard0, shard0, pending)}, seen), IsEmpty());
  EXPECT_THAT(differences({step_of("sum", shard0, shard0, replicate)}, seen),
              Contains(HasSubstr("steps.0: sum: expected [S(0)] -> [R], got [S(0)] -> [P(sum)]")));
}

// The form in place runs the same op.
TEST(StepCompare, FindsTheOpOfAnOperatorInPlace) {
  std::vector<SeenOp> seen{seen_op("add", shard0, shard0, shard0)};
  EXPECT_THAT(differences({step_of("add_", shard0, shard0, replicate)}, seen),
              Contains(HasSubstr("steps.0: add_")));
}

// A program may use the operator of another rank of tensors; what moves must be the same.
TEST(StepCompare, ComparesRedistributionsWithoutDims) {
  std::vector<SeenOp> seen{seen_op("mm", shard0, replicate, replicate)};
  EXPECT_THAT(differences({step_of("bmm", shard1, replicate, replicate)}, seen), IsEmpty());
  EXPECT_THAT(differences({step_of("bmm", shard1, shard1, shard1)}, seen),
              Contains(HasSubstr("redistributed tensors: expected none, got S -> R")));
  EXPECT_THAT(differences({step_of("bmm", pending, replicate, replicate)}, seen),
              Contains(HasSubstr("expected P(sum) -> R, got S -> R")));
}

// Views of one name differ in arguments that steps don't have.
TEST(StepCompare, LeavesViewsAlone) {
  std::vector<SeenOp> seen{seen_op("view", shard0, shard0, shard1)};
  EXPECT_THAT(differences({step_of("view", shard0, shard0, shard0)}, seen), IsEmpty());
}

}  // namespace
}  // namespace simmesh
