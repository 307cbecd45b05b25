#include "gate/explore/exploration_shards.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

std::vector<GateFile> two_gates(const std::string& of_last = "") {
  const std::string mesh = "[mesh]\nshape = [3]\n[parallel]\n";
  return {gate_from_text(mesh + "replicate = {}\n", "a.toml"),
          gate_from_text(mesh + "fsdp = {}\n" + of_last, "b.toml")};
}

GatesRequest request_for(std::int64_t schedules, const std::vector<Fault::Kind>& kinds) {
  return {.each = {.schedules = schedules, .takes_certificate = false}, .faults = kinds};
}

ShardResults shard_of(const std::vector<GateFile>& gates, const GatesRequest& request,
                      const JobShard& shard) {
  ShardResults keeps{.command = "explore", .shard = shard};
  EXPECT_TRUE(explore_share(gates, {.seed = 3}, request, {keeps}));
  return keeps;
}

// The files of all shards, read again.
ShardResults all_shards(const std::vector<GateFile>& gates, const GatesRequest& request,
                        std::uint64_t count) {
  std::vector<ShardFile> files;
  for (std::uint64_t i = 1; i <= count; ++i) {
    std::string text = shard_of(gates, request, {i, count}).to_text();
    files.push_back({std::to_string(i), shard_results_from(text, "file")});
  }
  return united(files);
}

// If this fails, the result depends on the number of shards.
TEST(ExplorationShards, AreTogetherOneExploration) {
  for (const std::vector<Fault::Kind>& kinds : {std::vector<Fault::Kind>(), fault_kinds("all")})
    for (const char* expect : {"", "[expect]\nhash = \"0000000000000000\"\n"}) {
      std::vector<GateFile> gates = two_gates(expect);
      GatesRequest request = request_for(150, kinds);
      std::string whole = to_text(explore_gates(gates, {.seed = 3}, request), false);
      for (std::uint64_t count : {1u, 2u, 7u}) {
        ShardResults all = all_shards(gates, request, count);
        EXPECT_EQ(to_text(exploration_of(explored_gates(all)), false), whole) << count;
      }
    }
}

TEST(ExplorationShards, OfOneGateHaveItsTitleAndTheChanceOfAllRuns) {
  GateFile gate = gate_from_text(
      "title = \"three\"\n[mesh]\nshape = [3]\n[parallel]\nreplicate = {}\n", "a.toml");
  for (SchedulePolicyKind policy : {SchedulePolicyKind::mixed, SchedulePolicyKind::pct}) {
    GatesRequest request = request_for(90, {});
    request.each.policy = policy;
    std::string whole = to_text(explore_gate(gate, {.seed = 3}, request.each), {});
    EXPECT_EQ(to_text(explored_gates(all_shards({gate}, request, 4))[0].seen, {}), whole);
    EXPECT_THAT(whole, HasSubstr("is still there with a chance"));
    ShardResults part = shard_of({gate}, request, {2, 4});
    std::string text = to_text(explored_gates(part)[0].seen, {});
    EXPECT_THAT(text, Not(HasSubstr("chance"))) << "a share doesn't have all runs";
    EXPECT_THAT(text, HasSubstr("gate a.toml: three\n"));
  }
}

// A share that doesn't have the first run makes it, and knows then that there is nothing to do.
TEST(ExplorationShards, OneRunStandsForAllOfThem) {
  GatesRequest request = request_for(150, {});
  request.each.takes_certificate = true;
  ShardResults second = shard_of(two_gates(), request, {2, 2});
  for (const ExploredGate& gate : explored_gates(second)) {
    EXPECT_TRUE(gate.is_certain());
    EXPECT_EQ(gate.runs(), 0u);
  }
  ShardResults all = all_shards(two_gates(), request, 2);
  EXPECT_EQ(to_text(exploration_of(explored_gates(all)), true), "2 gates, 2 schedules, 0 failed\n");
}

// If this fails, a later run of another shard hides the first one that fails.
TEST(ExplorationShards, TheFirstRunThatFailsEndsAGate) {
  ShardResults all = all_shards(two_gates(), request_for(6, {}), 1);
  std::uint64_t blocks = all.jobs / 2;
  for (std::uint64_t block : {2u, 4u}) {
    ExploredGate failing = explored_gate_from(all.results.at(blocks + block));
    failing.seen.failure = "block " + std::to_string(block);
    all.results[blocks + block] = to_json(failing);
  }
  std::vector<ExploredGate> gates = explored_gates(all);
  EXPECT_EQ(gates[0].failure(), "");
  EXPECT_EQ(gates[0].runs(), 6u);
  EXPECT_EQ(gates[1].failure(), "block 2");
  EXPECT_EQ(gates[1].runs(), 3u);
}

TEST(ExplorationShards, JobsMayBeHandedOut) {
  GatesRequest request = request_for(20, {});
  std::string whole = to_text(explore_gates(two_gates(), {.seed = 3}, request), false);
  std::uint64_t next = 0;
  std::vector<ShardFile> parts(2);
  for (std::size_t part : {0u, 1u})
    explore_share(two_gates(), {.seed = 3}, request,
                  {parts[part].content,
                   [&](std::uint64_t count) { return part == 0 && next == 11 ? count : next++; }});
  EXPECT_EQ(parts[0].content.results.size(), 11u);
  EXPECT_EQ(to_text(exploration_of(explored_gates(united_draws(parts))), false), whole);
}

TEST(ExplorationShards, AnInterruptionIsToldAndNonsenseRefused) {
  GatesRequest request = request_for(20, {});
  int left = 5;
  request.each.goes_on = [&](const RunProgress&) { return left-- > 0; };
  ShardResults keeps;
  EXPECT_FALSE(explore_share(two_gates(), {}, request, {keeps}));
  ShardResults all = all_shards(two_gates(), request_for(6, {}), 1);
  for (const char* key : {"files", "titles", "blocks"}) {
    ShardResults broken = all;
    broken.about.set(key, 3);
    testing::expect_error([&] { explored_gates(broken); }, ErrorKind::value_error, key);
  }
}

}  // namespace
}  // namespace simmesh
