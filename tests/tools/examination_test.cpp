#include "tools/examination.h"

#include <gtest/gtest.h>
#include <set>

namespace simmesh {
namespace {

// If this fails, this machine adds up otherwise than those that recorded the hashes.
TEST(Examination, HoldsOnThisMachine) {
  std::set<std::string> names;
  for (const Finding& finding : examine()) {
    EXPECT_TRUE(finding.ok()) << finding.name << ": " << finding.value << ", expected "
                              << finding.expected;
    EXPECT_FALSE(finding.value.empty()) << finding.name;
    EXPECT_TRUE(names.insert(finding.name).second) << finding.name << " comes twice";
  }
  for (const char* name : {"fibers", "canonical float32", "as_gloo_ring float32"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Examination, AFindingIsOkIfNothingElseIsExpected) {
  EXPECT_TRUE((Finding{"processor", "any", ""}).ok());
  EXPECT_TRUE((Finding{"fibers", "ok", "ok"}).ok());
  EXPECT_FALSE((Finding{"fibers", "broken", "ok"}).ok());
}

}  // namespace
}  // namespace simmesh
