#include "gate/tables/muon.h"

#include <gtest/gtest.h>

#include "gate/explain.h"
#include "gate/file.h"
#include "gate/memory.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_text;
using testing::text_of;

std::string muon_gate(const std::string& mesh, const std::string& parallel,
                      const std::string& optimizer = "lr = 0.05") {
  return "[mesh]\n" + mesh +
         "\n[model]\nkind = \"transformer\"\nlayers = 1\nwidth = 8\nheads = 2\nvocabulary = 11\n"
         "[data]\nbatch = 6\nsequence = 4\n[arithmetic]\nmode = \"exact\"\n" +
         parallel + "[train]\nsteps = 2\nmicro_batches = 2\noptimizer = { kind = \"muon\", " +
         optimizer + " }\n[expect]\nsame_as = [\"single_device\"]\nschedules = 2\n";
}

TEST(GateMuon, ReadsItsKeys) {
  std::string keys =
      "lr = 0.5, weight_decay = 0.25, momentum = 0.75, nesterov = false, ns_steps = 3, "
      "adjust_lr_fn = \"match_rms_adamw\", others = { lr = 0.125, betas = [0.5, 0.75], eps = "
      "0.001, weight_decay = 0.5 }";
  GateFile gate = gate_from_text(muon_gate("", "", keys), "");
  const MuonSpec& spec = std::get<MuonSpec>(gate.train.optimizer);
  EXPECT_EQ(muon_text(spec), "{ kind = \"muon\", " + keys + " }");
  EXPECT_EQ(spec.muon.iteration.steps, 3);
  std::string once = explain(gate);
  EXPECT_EQ(explain(gate_from_text(once, "")), once);
  EXPECT_GT(estimate_memory(gate).bytes, 0);
  expect_refused(muon_gate("", "", "momentum = 2.0"), "momentum");
  expect_refused(muon_gate("", "", "ns_steps = 100"), "ns_steps");
  expect_refused(muon_gate("", "", "others = { betas = [1.0, 0.5] }"), "betas");
  expect_refused(muon_gate("", "", "others = { momentum = 1.0 }"), "momentum");
}

// If this fails, the update of a matrix depends on how it is cut: by rows, by columns and rows, or
// into flat partitions.
TEST(GateMuon, UpdatesAreThoseOfOneDevice) {
  const std::pair<const char*, const char*> forms[] = {
      {"shape = [3]", "[parallel]\nfsdp = {}\n"},
      {"shape = [2]", "[parallel]\nreplicate = {}\n"},
      {"shape = [2]\nnames = [\"tp\"]", "[parallel]\ntensor = {}\n"},
      {"shape = [2, 2]\nnames = [\"dp\", \"tp\"]",
       "[parallel]\nfsdp = { mesh = \"dp\" }\ntensor = { mesh = \"tp\" }\n"},
      {"shape = [2]", "[parallel]\nzero = { stage = 0 }\n"},
      {"shape = [2]", "[parallel]\nzero = { stage = 1 }\n"},
      {"shape = [3]", "[parallel]\nzero = { stage = 2 }\n"},
      {"shape = [2]", "[parallel]\nzero = { stage = 3 }\n"}};
  for (const auto& [mesh, parallel] : forms) {
    GateResult result = run_text(muon_gate(mesh, parallel));
    EXPECT_EQ(result.failed(), 0) << text_of(result);
  }
}

}  // namespace
}  // namespace simmesh
