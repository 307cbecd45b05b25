#include "verify/verdict/judged_case.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A code host shows a case that fails at its line.
TEST(JudgedCase, AFailedCaseHasItsPlaceAndItsFirstMismatch) {
  CaseResult failed{.id = "a",
                    .kind = "mesh",
                    .place = {"c.jsonl", 7},
                    .mismatches = {"rank 2: x: expected 1, got 2", "y"},
                    .mismatch_count = 9,
                    .reproduce = "simmesh verify c.jsonl"};
  JudgedCheck check = judged_check(failed);
  EXPECT_EQ(check.suite, "mesh");
  ASSERT_TRUE(check.finding);
  EXPECT_EQ(check.finding->rule, "verify/mesh");
  EXPECT_EQ(check.finding->file, "c.jsonl");
  EXPECT_EQ(check.finding->line, 7);
  EXPECT_EQ(check.finding->rank, 2);
  EXPECT_EQ(check.finding->expected, "1");
  EXPECT_EQ(check.finding->got, "2");
  EXPECT_EQ(check.finding->details, "rank 2: x: expected 1, got 2\ny");
  EXPECT_FALSE(judged_check({.id = "b", .kind = "plan"}).finding);
}

}  // namespace
}  // namespace simmesh
