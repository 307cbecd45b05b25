#include "gate/folding.h"

#include <gmock/gmock.h>

#include "gate/runner.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using Ranks = std::vector<RankId>;

GateFile folded_gate(const std::string& mesh, const std::string& parallel,
                     const std::string& world = "fold = true\n", const std::string& model = "") {
  return gate_from_text(
      "[world]\nshapes_only = true\n" + world + "[mesh]\n" + mesh +
          "\n[model]\nkind = \"moe\"\nlayers = 4\nwidth = 8\nhidden = 8\nvocabulary = 16\n"
          "experts = 4\nforce_load_balance = true\n" +
          model + "[data]\nbatch = 32\nsequence = 4\n[parallel]\n" + parallel +
          "[train]\nmicro_batches = 4\noptimizer = { kind = \"adamw\" }\nclip_grad_norm = 0.5\n",
      "g.toml");
}

const std::string pp_dp_ep = "shape = [2, 2, 2, 2]\nnames = [\"pp\", \"dp\", \"ep\", \"tp\"]";
const std::string dp_pp = "shape = [4, 2]\nnames = [\"dp\", \"pp\"]";
const std::string staged_fsdp =
    "fsdp = { mesh = [\"dp\", \"ep\"] }\nexpert = { mesh = \"ep\" }\ntensor = { mesh = \"tp\" }\n";
const std::string pipeline_of = "pipeline = { mesh = \"pp\", schedule = \"";

TEST(GateFolding, TakesThePipelinesOfTheFirstAndTheLastRank) {
  EXPECT_EQ(folding_of(folded_gate("shape = [8]", "fsdp = {}\n")).ranks, (Ranks{0, 7}));
  GateFolding outer = folding_of(folded_gate(pp_dp_ep, staged_fsdp + pipeline_of + "1F1B\" }\n"));
  EXPECT_EQ(outer.ranks, (Ranks{0, 7, 8, 15}));
  EXPECT_THAT(outer.alike, ::testing::ElementsAre(std::pair(0u, 7u), std::pair(8u, 15u)));
  EXPECT_EQ(outer.index_of(8), 2u);
  GateFolding inner =
      folding_of(folded_gate(dp_pp, "fsdp = { mesh = \"dp\" }\n" + pipeline_of + "GPipe\" }\n"));
  EXPECT_EQ(inner.ranks, (Ranks{0, 1, 6, 7}));
  GateFolding alone =
      folding_of(folded_gate("shape = [2]\nnames = [\"pp\"]", pipeline_of + "GPipe\" }\n"));
  EXPECT_EQ(alone.ranks, (Ranks{0, 1}));
}

// If this fails, a few ranks don't stand for all of a pipeline: a folded world has other calls or
// peaks.
TEST(GateFolding, StagesHaveTheFiguresOfTheWholeWorld) {
  const std::string meta = "gated = true\nnorm = \"rms_norm\"\ninit = { on_meta = true }\n";
  for (const char* schedule : {"GPipe", "1F1B", "Interleaved1F1B", "ZBVZeroBubble"}) {
    SCOPED_TRACE(schedule);
    std::string parallel = staged_fsdp + pipeline_of + schedule + "\" }\n";
    GateFile all = folded_gate(pp_dp_ep, parallel, "", meta);
    GateFile few = folded_gate(pp_dp_ep, parallel, "fold = true\n", meta);
    GateRunner::Request request{.observes = true};
    GateRun whole = GateRunner(all, {}).run(request), folded = GateRunner(few, {}).run(request);
    ASSERT_TRUE(whole.outcome.ok()) << report(whole.outcome);
    ASSERT_TRUE(folded.outcome.ok()) << report(folded.outcome);
    EXPECT_EQ(folded.outcome.fold_difference, "");
    ASSERT_EQ(folded.ranks.size(), 4u);
    for (const RankFindings& found : folded.ranks) {
      EXPECT_EQ(found.calls, whole.ranks[found.rank].calls) << found.rank;
      EXPECT_EQ(found.bytes, whole.ranks[found.rank].bytes) << found.rank;
      EXPECT_EQ(found.memory_peaks, whole.ranks[found.rank].memory_peaks) << found.rank;
    }
  }
}

TEST(GateFolding, AGateSaysThatEachStageIsCompared) {
  GateResult result = run_gate(folded_gate(pp_dp_ep, staged_fsdp + pipeline_of + "1F1B\" }\n"));
  EXPECT_EQ(result.failed(), 0) << testing::text_of(result);
  EXPECT_EQ(testing::check_of(result, "run").actual, "4 that stand for all");
  EXPECT_EQ(testing::check_of(result, "fold").expected,
            "the same figures of the first and the last rank of each stage");
}

}  // namespace
}  // namespace simmesh
