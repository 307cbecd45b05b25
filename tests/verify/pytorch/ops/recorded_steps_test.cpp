#include "tests/verify/changed_case.h"

// Calls that PyTorch 2.15 runs in several steps, or by layouts that it derives: each step may
// redistribute a tensor anew, which no public case of the functions shows.
namespace simmesh {
namespace {

// A function that is composed of other steps costs other collectives, or has another layout.
TEST(RecordedSteps, CostTheSameCollectives) {
  int count = 0;
  for (const auto& value :
       testing::recorded_values("../../verify/pytorch/ops/recorded_steps.jsonl")) {
    CaseReport report = testing::verify_value(value);
    EXPECT_THAT(report.mismatches(), ::testing::IsEmpty()) << value["id"];
    ++count;
  }
  EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace simmesh
