#include "gate/compose/layouts.h"

#include <gmock/gmock.h>
#include <set>

#include "tests/gate/compose/compose_texts.h"

namespace simmesh {
namespace {

using ::testing::Contains;
using ::testing::Not;

ComposeLayouts layouts_of(const std::string& kind, RanksRange ranks) {
  return enumerate_layouts(compose_model_from_text(testing::compose_model(kind), "m.toml"), ranks);
}

std::vector<std::string> names_of(const std::vector<ComposeLayout>& layouts) {
  std::vector<std::string> names;
  for (const ComposeLayout& layout : layouts) names.push_back(layout.name);
  return names;
}

// A layout that isn't tried can hide a mistake for ever.
TEST(ComposeLayouts, AreAllOfTwoRanks) {
  EXPECT_EQ(names_of(layouts_of("transformer", {2, 2}).fitting),
            (std::vector<std::string>{
                "tensor=2", "context=2:ring:head_tail", "context=2:ring:contiguous",
                "context=2:all_gather:head_tail", "context=2:all_gather:contiguous",
                "context=2:ulysses:head_tail", "context=2:ulysses:contiguous", "replicate=2",
                "fsdp=2", "zero1=2", "zero2=2", "zero3=2", "tensor=2:sequence"}));
}

TEST(ComposeLayouts, HaveDistinctNamesAndSmallOnesFirst) {
  std::vector<ComposeLayout> layouts = layouts_of("moe", {2, 8}).fitting;
  std::set<std::string> names;
  std::int64_t ranks = 0;
  for (const ComposeLayout& layout : layouts) {
    EXPECT_TRUE(names.insert(layout.name).second) << layout.name;
    EXPECT_GE(layout.ranks(), ranks) << layout.name;
    ranks = layout.ranks();
  }
  for (const char* name : {"hsdp=2x2", "hsdp=2x2+expert@hsdp",
                           "fsdp=2+expert=2+context=2:ulysses:contiguous", "expert=2+tensor=2",
                           "expert=2:whole+tensor=2:sequence", "replicate=2+expert@tensor+tensor=2",
                           "expert@context+context=4:ring:head_tail", "zero3=2+expert=2+tensor=2"})
    EXPECT_THAT(names, Contains(name));
}

// A model of several blocks is also cut into stages, in the order of each schedule that takes them.
TEST(ComposeLayouts, HavePipelines) {
  std::string text = testing::compose_model("transformer");
  text.replace(text.find("layers = 1"), 10, "layers = 4");
  text.replace(text.find("steps = 2"), 9, "steps = 2\nmicro_batches = 4");
  ComposeLayouts layouts = enumerate_layouts(compose_model_from_text(text, "m.toml"), {2, 4});
  std::vector<std::string> names = names_of(layouts.fitting);
  for (const char* name :
       {"pipeline=2:GPipe", "pipeline=2:DualPipeV", "pipeline=4:1F1B", "pipeline=2:1F1B+fsdp=2",
        "pipeline=2:ZBVZeroBubble+zero1=2", "pipeline=2:LoopedBFS+context=2:ring:head_tail"})
    EXPECT_THAT(names, Contains(name));
  EXPECT_THAT(names, Not(Contains("pipeline=4:DualPipeV")));  // eight stages of four blocks
  EXPECT_THAT(names, Not(Contains("pipeline=2:1F1B+zero2=2")));
}

// Three ranks divide no heads, and sixteen rows can't be cut in 17.
TEST(ComposeLayouts, SayWhyALayoutDoesNotFit) {
  ComposeLayouts layouts = layouts_of("transformer", {3, 3});
  EXPECT_THAT(names_of(layouts.fitting), Not(Contains("tensor=3")));
  bool is_named = false;
  for (const Misfit& misfit : layouts.misfits)
    if (misfit.name == "tensor=3")
      is_named = misfit.reason.find("divides the 2 heads") != misfit.reason.npos;
  EXPECT_TRUE(is_named);
  layouts = layouts_of("transformer", {13, 13});
  std::vector<std::string> reasons;
  for (const Misfit& misfit : layouts.misfits) reasons.push_back(misfit.reason);
  EXPECT_THAT(reasons, Contains(::testing::HasSubstr("rows for each of 13 ranks")));
}

}  // namespace
}  // namespace simmesh
