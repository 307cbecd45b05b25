#include "replay/trace/finding.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

Finding finding_of(Severity severity) {
  return {.severity = severity,
          .rule = "split_sum",
          .rank = 0,
          .node = 4,
          .field = "in_split",
          .message = "expected a sum of 8, got 7"};
}

TEST(Finding, NamesRankNodeAndField) {
  EXPECT_EQ(to_string(finding_of(Severity::error)),
            "error split_sum: rank 0 node 4 in_split: expected a sum of 8, got 7");
}

TEST(Finding, LeavesOutWhatIsNotToBlame) {
  Finding finding{.severity = Severity::warning,
                  .rule = "schema",
                  .rank = std::nullopt,
                  .node = std::nullopt,
                  .field = "",
                  .message = "unknown"};
  EXPECT_EQ(to_string(finding), "warning schema: unknown");
  finding.rank = 3;
  EXPECT_EQ(to_string(finding), "warning schema: rank 3: unknown");
}

TEST(Finding, TheWorstIsTheVerdict) {
  EXPECT_EQ(worst({}), "ok");
  EXPECT_EQ(worst({finding_of(Severity::warning)}), "warning");
  EXPECT_EQ(worst({finding_of(Severity::warning), finding_of(Severity::error)}), "error");
}

}  // namespace
}  // namespace simmesh::replay
