#include "gate/compare_releases.h"

#include <gmock/gmock.h>

#include "core/release/release_comparison.h"
#include "gate/run_gate.h"

namespace simmesh {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string fsdp_in_bfloat16 = R"(
[mesh]
shape = [2]
[parallel]
fsdp = { param_dtype = "bfloat16" }
[train]
steps = 2
)";

ReleaseComparison compare(const std::string& text) {
  return compare_releases(gate_from_text(text, "g.toml"));
}

std::string text_of(const ReleaseComparison& comparison) {
  return to_text(gsl::span<const ReleaseComparison>(&comparison, 1));
}

const ReleaseDifference* find(const ReleaseComparison& comparison, std::string_view what) {
  for (const ReleaseDifference& difference : comparison.differences)
    if (difference.what.starts_with(what)) return &difference;
  return nullptr;
}

// Gradients of bfloat16 computations are reduced in bfloat16 under 2.13, and in float32 since 2.15.
TEST(CompareReleases, FindsOtherReductionsAndWhatFollows) {
  ReleaseComparison found = compare(fsdp_in_bfloat16);
  const ReleaseDifference* narrow = find(found, "calls of reduce_scatter avg bfloat16");
  const ReleaseDifference* wide = find(found, "calls of reduce_scatter avg float32");
  ASSERT_TRUE(narrow && wide) << text_of(found);
  EXPECT_EQ(narrow->values[1], "none");
  EXPECT_EQ(wide->values[0], "none");
  EXPECT_EQ(narrow->values[0], wide->values[1]);
  EXPECT_TRUE(find(found, "first result that differs, on rank 0: step 0 gradient"))
      << text_of(found);
  const ReleaseDifference* event = find(found, "event ");
  ASSERT_TRUE(event) << text_of(found);
  EXPECT_THAT(event->values[0], HasSubstr("bfloat16"));
  EXPECT_THAT(event->values[1], HasSubstr("float32"));
  EXPECT_THAT(found.same, Contains("collectives"));
}

TEST(CompareReleases, SaysWhereNothingDiffers) {
  ReleaseComparison found = compare("[mesh]\nshape = [2]\n[parallel]\nreplicate = {}\n[train]\n");
  EXPECT_THAT(found.differences, IsEmpty()) << text_of(found);
  EXPECT_EQ(text_of(found),
            "gate g.toml\nnothing differs: checks, plans, events, collectives, reductions, peak "
            "bytes, losses, bits of all results\n0 differences\n");
}

// A gate that passes today and fails after the upgrade is what a team looks for first.
TEST(CompareReleases, FindsAnotherVerdict) {
  GateFile gate = gate_from_text(fsdp_in_bfloat16, "g.toml");
  std::uint64_t hash = run_gate(gate, {.release = Release::v2_13}).data_hash;
  ReleaseComparison found =
      compare(fsdp_in_bfloat16 + fmt::format("[expect]\nhash = \"{:016x}\"\n", hash));
  const ReleaseDifference* verdict = find(found, "check hash");
  ASSERT_TRUE(verdict) << text_of(found);
  EXPECT_EQ(verdict->values[0], "pass");
  EXPECT_TRUE(verdict->values[1].starts_with("FAIL: ")) << verdict->values[1];
}

// A run without data has no losses, but its figures are compared.
TEST(CompareReleases, ComparesShapes) {
  ReleaseComparison found = compare("[world]\nshapes_only = true\n" + fsdp_in_bfloat16);
  EXPECT_TRUE(find(found, "calls of reduce_scatter avg bfloat16")) << text_of(found);
  EXPECT_THAT(found.same, Not(Contains("losses")));
}

TEST(ReleasesReport, IsATable) {
  ReleaseComparison one = {
      .file = "a.toml",
      .title = "A",
      .differences = {{"loss of step 0", {"1.5", "1.25"}}, {"x", {"12345", "2"}}},
      .same = {"plans"}};
  std::vector<ReleaseComparison> two = {one, {.file = "b.toml", .same = {"plans", "events"}}};
  EXPECT_EQ(to_text(two),
            "gate a.toml: A\n"
            "                   2.13    2.15\n"
            "  loss of step 0   1.5     1.25\n"
            "  x                12345   2\n"
            "the same: plans\n"
            "gate b.toml\n"
            "nothing differs: plans, events\n"
            "2 differences\n");
  EXPECT_EQ(to_text(two, {.quiet = true}), "2 differences\n");
  EXPECT_EQ(to_json(two),
            R"({"differences":2,"gates":[{"file":"a.toml","title":"A","differences":[)"
            R"({"what":"loss of step 0","2.13":"1.5","2.15":"1.25"},)"
            R"({"what":"x","2.13":"12345","2.15":"2"}],"same":["plans"]},)"
            R"({"file":"b.toml","title":"","differences":[],"same":["plans","events"]}]})"
            "\n");
}

}  // namespace
}  // namespace simmesh
