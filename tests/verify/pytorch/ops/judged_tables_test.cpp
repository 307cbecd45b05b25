#include "verify/pytorch/ops/judged_tables.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

using ::testing::SizeIs;

// Each refuted row is a finding, and a table without any is a check that holds.
TEST(JudgedTables, ARefutedRowIsAFinding) {
  RuleFilesResult result;
  result.tables = {{.id = "a", .function = "relu"}, {.id = "b", .function = "sum"}};
  result.tables[1].refuted = {{"S(0) -> S(0)", "float32[4] S(0)", "expected 3, got 1"}};
  auto checks = judged_checks(result, {.paths = {"t.jsonl"}, .seed = 2});
  ASSERT_THAT(checks, SizeIs(2));
  EXPECT_FALSE(checks[0].finding);
  EXPECT_EQ(checks[1].suite, "b");
  EXPECT_EQ(checks[1].finding->got, "1");
  EXPECT_EQ(checks[1].finding->reproduce, "simmesh validate --rules t.jsonl --seed 2");
}

}  // namespace
}  // namespace simmesh
