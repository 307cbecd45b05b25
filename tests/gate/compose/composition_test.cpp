#include "gate/compose/composition.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

LayoutResult failing(std::string name, std::vector<std::string> forms) {
  return {.name = std::move(name), .forms = std::move(forms), .failure = "deadlock"};
}

// If this fails, nobody learns which of many failing layouts to look at.
TEST(Composition, NamesTheSmallestLayoutThatFails) {
  std::vector<LayoutResult> layouts = {failing("a=2", {"a"}), failing("c=2", {"c"}),
                                       failing("a=2+b=2", {"a", "b"}),
                                       failing("b=2+c=2", {"b", "c"}), failing("d=4", {"d"})};
  layouts[1].failure.clear();
  name_smallest(layouts);
  std::vector<std::string> names;
  for (const LayoutResult& result : layouts) names.push_back(result.smallest);
  EXPECT_EQ(names, (std::vector<std::string>{"a=2", "", "a=2", "b=2+c=2", "d=4"}));
  Composition found{.file = "m.toml", .layouts = layouts, .flags = " --seed 1"};
  EXPECT_EQ(found.reproduce(), "simmesh compose m.toml --layout a=2 --seed 1");
  EXPECT_EQ(found.passed(), 1);
  EXPECT_EQ(found.failed(), 4);
  EXPECT_EQ(Composition().reproduce(), "");
}

}  // namespace
}  // namespace simmesh
