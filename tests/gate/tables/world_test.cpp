#include "gate/tables/world.h"

#include <gmock/gmock.h>

#include "gate/explain.h"
#include "gate/explore/explore_gate.h"
#include "gate/report.h"
#include "gate/run_gate.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using ::testing::HasSubstr;
using ::testing::Not;

GateFile gate_with(const std::string& text) { return gate_from_text(text, "g.toml"); }

std::string sharded(const std::string& world, const std::string& mesh, const std::string& rest) {
  return "[world]\n" + world + "[mesh]\nshape = " + mesh +
         "\n[parallel]\nfsdp = {}\n[train]\nsteps = 2\noptimizer = { kind = \"adamw\" }\n" + rest;
}

// If this fails, a gate without data reports another peak, other events or other calls than the
// same gate with data, and proves nothing about it.
TEST(GateWorld, ShapesOnlyHasTheFiguresOfTheRunWithData) {
  for (const char* more : {"", "clip_grad_norm = 1.0\n", "micro_batches = 2\n[device]\n"}) {
    std::string expect = std::string(more) + "[expect]\nevents = [\"unshard\"]\n";
    GateResult data = run_gate(gate_with(sharded("", "[4]", expect)));
    GateResult shapes = run_gate(gate_with(sharded("shapes_only = true\n", "[4]", expect)));
    EXPECT_EQ(shapes.collectives, data.collectives);
    EXPECT_EQ(shapes.peak_bytes, data.peak_bytes);
    EXPECT_EQ(shapes.shapes_of_ranks, 4);
    EXPECT_EQ(shapes.gathers->started(), data.gathers->started());
    EXPECT_EQ(shapes.failure, data.failure) << "all events of the step";
    ASSERT_EQ(shapes.device.has_value(), data.device.has_value());
    if (data.device) {
      EXPECT_EQ(shapes.device->makespan_us, data.device->makespan_us);
      EXPECT_EQ(shapes.device->reserved_bytes, data.device->reserved_bytes);
    }
    EXPECT_FALSE(shapes.physical_peak_bytes);
    GateResult folded =
        run_gate(gate_with(sharded("shapes_only = true\nfold = true\n", "[4]", expect)));
    EXPECT_EQ(folded.collectives, shapes.collectives);
    EXPECT_EQ(folded.peak_bytes, shapes.peak_bytes);
    EXPECT_EQ(folded.shapes_of_ranks, 2);
  }
}

// A gate is judged by the release that it names, unless the command line names another.
TEST(GateWorld, NamesTheReleaseThatIsFollowed) {
  auto followed = [](const std::string& text, std::optional<Release> asked) {
    GateFile gate = gate_with(text);
    return GateRunner(gate, {.release = asked}).world_options({}).release;
  };
  const std::string older = "[world]\nrelease = \"2.13\"\n";
  EXPECT_EQ(followed("", {}), Release::v2_15);
  EXPECT_EQ(followed(older, {}), Release::v2_13);
  EXPECT_EQ(followed(older, Release::v2_15), Release::v2_15);
  EXPECT_EQ(followed("", Release::v2_13), Release::v2_13);
  expect_refused("[world]\nrelease = \"2.14\"\n", "key 'world.release'");
  expect_refused("[world]\nrelease = 2.13\n", "key 'world.release'");
}

// The largest world must not cost what its ranks would cost one by one.
TEST(GateWorld, AFoldedWorldHasAMillionRanks) {
  GateFile gate = gate_with(
      "[world]\nshapes_only = true\nfold = true\n"
      "[mesh]\nshape = [250000, 4]\nnames = [\"replicate\", \"shard\"]\n"
      "[parallel]\nfsdp = { mesh = [\"replicate\", \"shard\"] }\n"
      "[data]\nbatch = 1000000\n[expect]\npeak_bytes_max = 1\n");
  GateResult result = run_gate(gate);
  std::string text = to_text({&result, 1});
  EXPECT_THAT(text, HasSubstr("pass run: expected 1000000 ranks to return, got 2 that stand for "
                              "all\npass fold: expected the same figures of the first and the last "
                              "rank, got the same\n"));
  EXPECT_THAT(text, HasSubstr("FAIL peak_bytes_max"));
  EXPECT_THAT(text, HasSubstr("shapes only, 2 ranks were run\nschedule hash"));
  EXPECT_THAT(text, Not(HasSubstr("data hash")));
  EXPECT_THAT(to_json({&result, 1}), HasSubstr("\"shapes_of_ranks\":2"));
}

// Ranks with fewer rows can't stand for ranks with more.
TEST(GateWorld, AFoldOfRanksThatDifferFails) {
  GateFile gate =
      gate_with(sharded("shapes_only = true\nfold = true\n", "[3]", "[data]\nbatch = 7\n"));
  GateResult result = run_gate(gate);
  EXPECT_THAT(to_text({&result, 1}), HasSubstr("FAIL fold: expected the same figures"));
}

TEST(GateWorld, AnExplorationNeedsNoData) {
  GateExploration found =
      explore_gate(gate_with(sharded("shapes_only = true\n", "[3]", "")), {}, {.schedules = 5});
  EXPECT_TRUE(found.ok()) << to_text(found, {});
}

// Keys that need data are refused at their place, and never ignored.
TEST(GateWorld, RefusesWhatNeedsData) {
  const std::string shapes = "[world]\nshapes_only = true\n", needs = "world.shapes_only";
  expect_refused("[world]\nfold = true\n",
                 "[g.toml:2:8] key 'world.fold': expected shapes_only = true");
  expect_refused(
      shapes + "[expect]\nsame_as = [\"single_device\"]\n",
      "[g.toml:4:11] key 'expect.same_as': expected no such key in a gate with " + needs);
  expect_refused(shapes + "[expect]\nloss = [1.0]\n", "[g.toml:4:8] key 'expect.loss'");
  expect_refused(shapes + "[expect]\nhash = \"0000000000000000\"\n",
                 "[g.toml:4:8] key 'expect.hash'");
  expect_refused(shapes + "[faults]\nflip_bit = { rank = 0, at = \"operation 1\", bit = 1 }\n",
                 "[g.toml:4:12] key 'faults.flip_bit'");
  expect_refused(shapes + "[model]\nkind = \"moe\"\n",
                 "[g.toml:4:8] key 'model.kind': expected force_load_balance = true for experts");
  expect_refused(shapes + "fold = true\n[faults]\nstarve = { rank = 0 }\n", "key 'faults'");
  expect_refused(shapes + "size = 1\n", "expected a known key, got 'world.size'");
  expect_refused("[mesh]\nshape = [5000]\n", "[g.toml:2:10] key 'mesh.shape'");
  expect_refused(shapes + "[mesh]\nshape = [1000001]\n", "from 1 to 1000000");
  expect_refused(sharded("shapes_only = true\nfold = true\n", "[4]",
                         "[expect]\nevents = { rank = 1, list = [\"x\"] }\n"),
                 "key 'expect.events.rank': expected 0 or 3");
}

TEST(GateWorld, IsExplained) {
  std::string text = explain(gate_with(sharded("shapes_only = true\nfold = true\n", "[4]", "")));
  EXPECT_THAT(text, HasSubstr("[world]\nrelease = \"2.15\"\nshapes_only = true\nfold = true\n"));
  EXPECT_EQ(explain(gate_with(text)), text);
}

}  // namespace
}  // namespace simmesh
