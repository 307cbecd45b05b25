#include "gate/compose/composition_shards.h"

#include <gtest/gtest.h>
#include <limits>

#include "gate/compose/compose_report.h"

namespace simmesh {
namespace {

LayoutResult layout_of(std::string name, std::vector<std::string> forms) {
  return {.name = std::move(name), .forms = std::move(forms), .ranks = 2, .mesh = "a 2"};
}

// If this fails, results of shards lose what one run knows.
TEST(CompositionShards, KeepAllThatIsPrinted) {
  Composition found{.file = "m.toml",
                    .title = "t",
                    .losses = {0.1, std::numeric_limits<double>::infinity()},
                    .tensors = 7,
                    .layouts = {layout_of("a=2", {"a"}), layout_of("b=2", {"b"}),
                                layout_of("a=2+b=2", {"a", "b"})},
                    .misfits = {{"c=2", "no rows"}},
                    .flags = " --seed 3"};
  found.layouts[1].difference = {.where = "w", .expected = "1", .actual = "2"};
  found.layouts[1].rank = 1;
  found.layouts[1].first = "op";
  found.layouts[2].failure = "deadlock";
  name_smallest(found.layouts);
  ShardResults all{.jobs = 3, .about = about_layouts(found)};
  for (std::size_t i = 0; i < 3; ++i) all.results.emplace(i, to_json(found.layouts[i]));
  Composition again = united_composition(all);
  EXPECT_EQ(to_text(again), to_text(found));
  EXPECT_EQ(to_json(again), to_json(found));
  EXPECT_EQ(again.layouts[2].smallest, "b=2");
  EXPECT_EQ(again.reproduce(), "simmesh compose m.toml --layout b=2 --seed 3");
}

// The shard that ran the larger layout doesn't know the smaller one.
TEST(CompositionShards, ExplainALayoutByAnotherShards) {
  LayoutResult small = layout_of("a=2", {"a"}), large = layout_of("a=2+b=2", {"a", "b"});
  small.failure = "deadlock";
  large.difference = {.where = "w", .expected = "1", .actual = "2"};
  large.first = "op";
  ShardResults all{.jobs = 2, .results = {{0, to_json(small)}, {1, to_json(large)}}};
  Composition found = united_composition(all);
  EXPECT_EQ(found.layouts[1].smallest, "a=2");
  EXPECT_EQ(found.layouts[1].first, "");
}

}  // namespace
}  // namespace simmesh
