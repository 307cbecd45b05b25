#include "gate/explore/explore_gates.h"

#include <gmock/gmock.h>

#include "core/check/read_file.h"
#include "core/check/write_file.h"
#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

std::vector<GateFile> three_gates(const std::string& of_last = "") {
  auto gate = [](const char* parallel, const std::string& rest, const char* name) {
    return gate_from_text(
        "[mesh]\nshape = [3]\n[parallel]\n" + std::string(parallel) + " = {}\n" + rest, name);
  };
  return {gate("replicate", "", "a.toml"), gate("fsdp", "", "b.toml"),
          gate("fsdp", of_last, "c.toml")};
}

GatesRequest request_of(std::int64_t schedules, const std::string& state = "") {
  return {.each = {.schedules = schedules, .takes_certificate = false, .state_file = state}};
}

// If this fails, gates in turns have other runs than each on its own, or one that fails ends all.
TEST(ExploreGates, FindWhatEachGateAloneFinds) {
  std::vector<GateFile> gates = three_gates("[expect]\nhash = \"0000000000000000\"\n");
  GatesExploration found = explore_gates(gates, {.seed = 3}, request_of(150));
  ASSERT_EQ(found.gates.size(), 3u);
  EXPECT_EQ(found.failed(), 1u);
  GateExploration alone =
      explore_gate(gates[0], {.seed = 3}, {.schedules = 150, .takes_certificate = false});
  EXPECT_EQ(found.gates[0].runs, 150u);
  EXPECT_EQ(found.gates[0].data_hash, alone.data_hash);
  EXPECT_EQ(found.gates[2].runs, 1u);
  std::string text = to_text(found, false);
  EXPECT_THAT(text, HasSubstr("pass a.toml: 150 schedules, data hash "));
  EXPECT_THAT(text, HasSubstr("FAIL c.toml: 1 schedules"));
  EXPECT_THAT(text, HasSubstr("reproduce: simmesh run c.toml --seed 3 --schedule choices:"));
  EXPECT_EQ(to_text(found, true), "3 gates, 301 schedules, 1 failed\n");
  EXPECT_THAT(to_json(found), HasSubstr("\"runs\":150"));
  GatesRequest certain = request_of(150);
  certain.each.takes_certificate = true;
  EXPECT_EQ(to_text(explore_gates(three_gates(), {}, certain), true),
            "3 gates, 3 schedules, 0 failed\n");
}

// If this fails, an interrupted night loses runs or makes them twice, or its draws change.
TEST(ExploreGates, GoOnFromAFileAsIfNothingHadHappened) {
  for (bool has_faults : {false, true}) {
    testing::TemporaryFolder folder;
    std::string state = (folder.path() / "night").string();
    GatesRequest whole = request_of(130), parts = request_of(130, state);
    if (has_faults) whole.faults = parts.faults = fault_kinds("all");
    std::string expected = to_text(explore_gates(three_gates(), {}, whole), false);
    for (int interruptions = 0;; ++interruptions) {
      ASSERT_LT(interruptions, 20);
      int left = 60;
      parts.each.jobs = std::size_t(1 + interruptions % 2);
      parts.each.goes_on = [&](const RunProgress&) { return left-- > 0; };
      GatesExploration found = explore_gates(three_gates(), {}, parts);
      if (found.interrupted) continue;
      EXPECT_EQ(to_text(found, false), expected);
      EXPECT_GT(interruptions, 2);
      break;
    }
    parts.each.goes_on = nullptr;
    EXPECT_EQ(to_text(explore_gates(three_gates(), {}, parts), false), expected);
    testing::expect_error([&] { explore_gates(three_gates(), {.seed = 1}, parts); },
                          ErrorKind::value_error, "got one of others");
    std::string text =
        read_file({.where = "test", .what = "the state", .path = state, .bytes_max = 100'000});
    std::size_t hash = text.find("\"data_hash\"");
    ASSERT_NE(hash, text.npos);
    text[text.find_first_of("0123456789abcdef", text.find(':', hash))] = 'x';
    write_file(state, text, "the state");
    testing::expect_error([&] { explore_gates(three_gates(), {}, parts); }, ErrorKind::value_error,
                          "got a gate without a hash");
  }
}

}  // namespace
}  // namespace simmesh
