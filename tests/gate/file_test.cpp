#include "gate/file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "gate/explain.h"
#include "gate/tables/fault.h"
#include "tests/expect_error.h"
#include "tests/gate/gate_texts.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

GateFile parsed_gate(const std::string& text) { return gate_from_text(text, "g.toml"); }

// Expects that a text is refused with a line number and a phrase.
void expect_bad(const std::string& text, int line, const std::string& phrase) {
  SCOPED_TRACE(text);
  std::string refusal = testing::refusal_of(text);
  EXPECT_THAT(refusal, HasSubstr("[g.toml:" + std::to_string(line) + ":"));
  EXPECT_THAT(refusal, HasSubstr(phrase));
  EXPECT_THAT(refusal, HasSubstr("expected"));
  EXPECT_THAT(refusal, HasSubstr("got"));
}

TEST(GateFile, AnEmptyFileIsAGate) {
  GateFile gate = parsed_gate("");
  EXPECT_EQ(gate.ranks(), 1);
  EXPECT_EQ(gate.model.kind, ModelKind::mlp);
  EXPECT_EQ(gate.arithmetic, "canonical");
}

TEST(GateFile, ReadsEveryTable) {
  GateFile gate = parsed_gate(R"(
title = "t"
[mesh]
shape = [2, 4]
names = ["dp", "tp"]
[model]
kind = "moe"
layers = 3
width = 8
heads = 4
experts = 6
top_k = 3
dtype = "bfloat16"
init = { rule = "wide", scale = 0.5, seed = 3 }
[data]
batch = 16
sequence = 4
seed = 5
[parallel]
replicate = { mesh = "tp", bucket_bytes = 4096 }
activation_checkpointing = "blocks"
[train]
steps = 3
micro_batches = 2
optimizer = { kind = "adam", lr = 0.5, betas = [0.5, 0.25] }
clip_grad_norm = 2.0
[arithmetic]
mode = "exact"
[expect]
same_as = ["single_device"]
schedules = 7
collectives = { all_reduce = 2 }
peak_bytes_max = 5
loss = [1, 2.5, 3]
loss_rtol = 1e-3
hash = "0123456789abcdef"
[faults]
kill = { rank = 7, at = "step 2 optimizer" }
flip_bit = [{ rank = 1, at = "operation 4", bit = 9 }, { rank = 2 }]
)");
  EXPECT_EQ(gate.ranks(), 8);
  EXPECT_EQ(gate.parts(), 4);
  EXPECT_EQ(gate.parallel.replicate->mesh, "tp");
  EXPECT_EQ(gate.model.top_k, 3);
  EXPECT_EQ(gate.data.vocabulary, gate.model.vocabulary);
  EXPECT_TRUE(gate.parallel.checkpoint_blocks);
  EXPECT_TRUE(gate.parallel.replicate->find_unused);
  EXPECT_EQ(std::get<AdamSpec>(gate.train.optimizer).options.beta2, 0.25);
  EXPECT_EQ(gate.train.loss, LossKind::cross_entropy);
  EXPECT_EQ(gate.expect.schedules, 7);
  ASSERT_EQ(gate.faults.size(), 3u);
  EXPECT_EQ(describe(gate.faults[0]), "kill of rank 7 at step 2 optimizer");
  EXPECT_EQ(describe(gate.faults[1]), "flip_bit of rank 1 at operation 4, bit 9");
}

// A mistyped key must never be ignored.
TEST(GateFile, UnknownKeysNameTheNearest) {
  expect_bad("titel = \"\"\n", 1, "got 'titel'; the nearest known key is 'title'");
  expect_bad("\n[model]\nwidht = 3\n", 3,
             "got 'model.widht'; the nearest known key is 'model.width'");
  expect_bad("[model]\nkind = \"mlp\"\nheads = 2\n", 3, "got 'model.heads'");
  expect_bad("[expect]\ncollectives = { all_reduces = 1 }\n", 2,
             "the nearest known key is 'expect.collectives.all_reduce'");
  expect_bad("[train]\noptimizer = { kind = \"sgd\", betas = [0.5, 0.5] }\n", 2,
             "'train.optimizer.betas'");
  expect_bad("[faults]\nkil = {}\n", 2, "the nearest known key is 'faults.kill'");
}

TEST(GateFile, RefusesWhatItDoesNotHave) {
  expect_bad("[expect]\nsame_as = [\"zero4\"]\n", 2,
             "'zero3' or a table with mesh and parallel, got 'zero4'");
}

TEST(GateFile, RefusesWrongTypesAndRanges) {
  expect_bad("title = 3\n", 1, "a string without control characters, got 3");
  expect_bad("title = \"a\\nb\"\n", 1, "without control characters, got \"a?b\"");
  expect_bad("mesh = 3\n", 1, "a table");
  expect_bad("[mesh]\nshape = [0]\n", 2, "from 1 to 4096");
  expect_bad("[mesh]\nshape = [4096, 4096]\n", 2, "at most 4096 ranks");
  expect_bad("[mesh]\nshape = []\n", 2, "at least one size");
  expect_bad("[mesh]\nshape = [2]\nnames = [\"a\", \"b\"]\n", 3,
             "one name per size, 1 in all, got 2");
  expect_bad("[mesh]\nshape = [2, 2]\nnames = [\"a\", \"a\"]\n", 3, "different names");
  expect_bad("[model]\nlayers = 2.5\n", 2, "an integer from 1 to 256, got 2.5");
  expect_bad("[model]\ndtype = \"int64\"\n", 2, "float32");
  expect_bad("[model]\nkind = \"cnn\"\n", 2,
             "one of mlp, transformer, moe, linear_stack, got \"cnn\"");
  expect_bad("[train]\nsteps = 0\n", 2, "from 1 to 10000, got 0");
  expect_bad("[train]\noptimizer = { lr = nan }\n", 2, "a number");
  expect_bad("[train]\noptimizer = { kind = \"sgd\", nesterov = true }\n", 2, "a momentum");
  expect_bad("[train]\noptimizer = { kind = \"adam\", betas = [] }\n", 2, "two numbers");
  expect_bad("[train]\nloss = \"cross_entropy\"\n", 2, "one of mse, dot");
  expect_bad("[arithmetic]\nmode = \"fast\"\n", 2, "canonical");
  expect_bad("[expect]\nhash = \"xyz\"\n", 2, "16 digits");
  expect_bad("[expect]\nloss = [1.0, 2.0]\n", 2, "one loss per step, 1 in all, got 2");
  expect_bad("[faults]\nkill = { rank = 1 }\n", 2, "from 0 to 0, got 1");
  expect_bad("[faults]\nkill = { at = \"step 1 backward\" }\n", 2, "with a step from 0 to 0");
}

TEST(GateFile, RefusesWhatDoesNotFitTogether) {
  expect_bad("[model]\nkind = \"transformer\"\nwidth = 10\nheads = 4\n", 4,
             "a divisor of the width 10, got 4");
  expect_bad("[model]\nkind = \"moe\"\nexperts = 2\ntop_k = 3\n", 4, "at most the 2 experts");
  expect_bad("[parallel]\nreplicate = { mesh = \"tp\" }\n", 2, "one of dp, got \"tp\"");
  expect_bad("[mesh]\nshape = [8]\n[data]\nbatch = 7\n[parallel]\nreplicate = {}\n", 4,
             "rows for each of 8 ranks in each of 1 micro-batches, got 7");
  expect_bad("[data]\nbatch = 8\n[train]\nmicro_batches = 5\n", 2, "in each of 5 micro-batches");
  expect_bad("[data]\nbatch = 1000000\n[train]\nsteps = 10000\n", 2, "elements in all steps");
  expect_bad("[parallel]\nactivation_checkpointing = \"blocks\"\n", 2, "a model without blocks");
  expect_bad("\n[model]\nnodes = [{ name = \"a\", kind = \"linear\", in = 2 }]\n", 2,
             "expected the field 'out'");
  expect_bad("[model]\nkind = \"linear_stack\"\nlayers = 256\nwidth = 65536\n", 1, "elements");
}

// A person must find the value that is wrong, also where several are on one line.
TEST(GateFile, NamesLineAndColumnOfTheValue) {
  const std::string model = "[model]\nkind = \"transformer\"\n", mesh = "[mesh]\nshape = [8]\n";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"[data]\nbatch = 0\n", "2:9"},
      {mesh + "[data]\nseed = 1\nbatch = 7\n[parallel]\nreplicate = {}\n", "5:9"},
      {mesh + "[data]\nseed = 1\n[train]\nmicro_batches = 3\n[parallel]\nreplicate = {}\n", "3:1"},
      {"[data]\nrule = \"index\"\n", "2:8"},
      {model + "[data]\nsequence = 0\n", "4:12"},
      {"[data]\nbatch = 1000000\n[train]\nsteps = 10000\n", "2:9"},
      {"[train]\noptimizer = { kind = \"adam\", betas = [0.5, 1.5] }\n", "2:38"},
      {"[train]\noptimizer = { kind = \"adam\", lr = -1 }\n", "2:35"},
      {"[train]\nclip_grad_norm = -1\n", "2:18"},
      {mesh + "[parallel]\nreplicate = { mesh = \"tp\" }\n", "4:22"},
      {mesh + "[parallel]\nfsdp = { sync = \"never\" }\n", "4:17"},
      {mesh + "[parallel]\nfsdp = { wrap = [\"fc0\", 3] }\n", "4:25"},
      {mesh + "[parallel]\nreplicate = {}\nfsdp = {}\n", "5:8"},
      {"[expect]\nsame_as = [\"single_device\", \"two\"]\n", "2:29"},
      {"[expect]\nsame_as = [\"single_device\", { mesh = [9], parallel = { replicate = {} } }]\n",
       "2:29"},
      {"[expect]\nloss = [1.0, \"x\"]\n", "2:14"},
      {"[mesh]\nshape = [2, 0]\n", "2:13"},
      {"[device]\nteraflops = 0\n", "2:13"}};
  for (const auto& [text, place] : texts) {
    SCOPED_TRACE(text);
    testing::expect_error([&text = text] { parsed_gate(text); }, ErrorKind::value_error,
                          "[g.toml:" + place + "] key '");
  }
}

TEST(GateFile, RefusesTextThatIsNoToml) {
  expect_bad("[mesh\n", 1, "expected TOML");
  expect_bad("\n\na = = 2\n", 3, "expected TOML");
  expect_bad("a = \"\xff\"\n", 1, "expected TOML");
  expect_bad(std::string((1 << 20) + 1, '\n'), 1, "1 MiB");
}

// If this fails, a file ends the program by an overflow of its stack.
TEST(GateFile, RefusesKeysOfManyParts) {
  std::string deep = "a";
  for (int i = 0; i < 30'000; ++i) deep += ".a";
  expect_bad("\n" + deep + " = 1\n", 2, "keys of at most 100 parts");
  expect_bad("x = \"#\"\n[" + deep + "]\n", 2, "keys of at most 100 parts");
  expect_bad("x = [\n{ " + deep + " = 1 }]\n", 2, "keys of at most 100 parts");
  std::string dots(300, '.');
  for (const char* quote : {"\"", "'", "\"\"\"", "'''"})
    EXPECT_EQ(gate_from_text(fmt::format("title = {0}{1}{0} # {1}", quote, dots), "g.toml").title,
              dots);
}

TEST(GateFile, ReadsFilesOnly) {
  testing::TemporaryFolder folder;
  testing::expect_error([&] { read_gate(folder.path().string()); }, ErrorKind::value_error,
                        "can't be read");
  testing::expect_error([&] { read_gate("/no/such/file.toml"); }, ErrorKind::value_error,
                        "can't be read: No such file or directory");
  testing::expect_error([&] { read_gate("/dev/zero"); }, ErrorKind::value_error,
                        "expected a gate file of at most 1048576 bytes");
  EXPECT_EQ(read_gate(folder.write("g.toml", "title = \"a\"")).title, "a");
}

}  // namespace
}  // namespace simmesh
