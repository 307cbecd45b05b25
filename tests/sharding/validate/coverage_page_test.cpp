#include "sharding/validate/coverage_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// If placements inside brackets were split at their commas, the page would name none of them.
TEST(CoveragePage, HasALineAnOpInTheOrderOfNames) {
  ValidateResult result;
  SampleVerdict sample;
  sample.rules["_S(0,2),P(sum) -> _S(0,2)"].has_gradient = true;
  sample.rules["S(1),R -> S(1)"] = {};
  result.ops.push_back({"mul", OpVerdict::Way::rules, {sample}});
  result.ops.push_back({"argmax", OpVerdict::Way::replicated, {SampleVerdict{}}});
  std::string page = coverage_page(result);
  EXPECT_THAT(page, HasSubstr("| `argmax` | replicated only |  | no | 0 of 1 calls |\n"
                              "| `mul` | rules | `S` `_S` `P(sum)` | judged | 2 of 1 calls |\n"));
  EXPECT_THAT(page, HasSubstr("2 ops, 2 rules."));
}

}  // namespace
}  // namespace simmesh
