#include "gate/compose/judged_layouts.h"

#include <gmock/gmock.h>

#include "tests/gate/compose/compose_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A layout that fails is one finding, with a command that runs it alone.
TEST(JudgedLayouts, ALayoutThatDiffersIsAFinding) {
  Composition found =
      testing::composed(testing::compose_model("transformer"),
                        {.ranks = {2, 2}, .only = {"fsdp", "tensor"}, .faults = {{{"fsdp"}, 3.0}}});
  auto checks = judged_checks(found);
  ASSERT_THAT(checks, SizeIs(found.layouts.size()));
  std::int64_t failed = 0;
  for (const JudgedCheck& check : checks) {
    EXPECT_EQ(check.suite, "m.toml");
    if (!check.finding) continue;
    ++failed;
    EXPECT_EQ(check.finding->rule, "compose/same_as_one_device");
    EXPECT_EQ(check.finding->rank, 0);
    EXPECT_NE(check.finding->expected, check.finding->got);
    EXPECT_THAT(check.finding->reproduce, HasSubstr("simmesh compose m.toml --ranks 2 --layout "));
  }
  EXPECT_EQ(failed, found.failed());
  EXPECT_EQ(failed, 1);
}

TEST(JudgedLayouts, ALayoutThatDoesNotEndIsNamedAfterItsCheck) {
  Composition found{.file = "m.toml"};
  LayoutResult result{.name = "fsdp=2", .failure = "rank 1: expected 2, got 3"};
  result.smallest = "fsdp=1";
  found.layouts = {result};
  CheckFinding finding = *judged_checks(found)[0].finding;
  EXPECT_EQ(finding.rule, "compose/run");
  EXPECT_EQ(finding.file, "m.toml");
  EXPECT_EQ(finding.details, "fails as the smaller layout fsdp=1 does");
}

}  // namespace
}  // namespace simmesh
