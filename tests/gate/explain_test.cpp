#include "gate/explain.h"

#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>

namespace simmesh {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> example_gates() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(SIMMESH_SOURCE_DIR "/examples/gates"))
    paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// --explain must print the same gate: reading it back and explaining it again changes nothing.
TEST(GateExplain, ReadsBackAsTheSameGate) {
  std::vector<std::string> texts = {
      "", "title = \"a \\\" \\\\ \xc3\xa9\"",
      "[mesh]\nshape=[2,3]\n[expect]\nloss=[2]\nhash=\"00000000000000ff\"\ncollectives={barrier=0}",
      "[world]\nrelease=\"2.13\"",
      "[faults]\nkill=[{},{at=\"operation 3\"}]\nstarve={}\nflip_bit={bit=2}\nfail_allocation={}"};
  for (const std::string& path : example_gates()) texts.push_back(explain(read_gate(path)));
  ASSERT_GT(texts.size(), 8u);
  for (const std::string& text : texts) {
    std::string once = explain(gate_from_text(text, "g.toml"));
    EXPECT_EQ(explain(gate_from_text(once, "g.toml")), once);
  }
}

TEST(GateExplain, ShowsDefaults) {
  std::string text = explain(gate_from_text("", "g.toml"));
  for (const char* line :
       {"[mesh]\nshape = [1]\nnames = [\"dp\"]\n", "[world]\nrelease = \"2.15\"\n",
        "\nkind = \"mlp\"\n", "\nsteps = 1\n", "optimizer = { kind = \"sgd\", lr = 0.01,",
        "mode = \"canonical\"", "schedules = 1\n", "activation_checkpointing = \"none\"\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

}  // namespace
}  // namespace simmesh
