#include "gate/tables/tensor.h"

#include <gtest/gtest.h>

#include "gate/file.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using testing::expect_refused;

std::string tensor_gate(const std::string& parallel, const std::string& model = "") {
  return "[mesh]\nshape = [2, 4]\nnames = [\"dp\", \"tp\"]\n"
         "[model]\nkind = \"transformer\"\nlayers = 1\nwidth = 8\nheads = 4\nvocabulary = 11\n" +
         model + "[data]\nbatch = 4\nsequence = 8\n[parallel]\n" + parallel +
         "\n[train]\nsteps = 2\n[expect]\nschedules = 2\n";
}

TEST(GateTensor, ReadsItsKeys) {
  GateFile gate = gate_from_text(tensor_gate("tensor = { sequence_parallel = true }"), "");
  ASSERT_TRUE(gate.parallel.tensor);
  EXPECT_EQ(gate.parallel.tensor->mesh, "tp");
  EXPECT_TRUE(gate.parallel.tensor->form.sequence_parallel);
  EXPECT_EQ(tensor_entry(*gate.parallel.tensor), "{ mesh = \"tp\", sequence_parallel = true }");
  EXPECT_EQ(gate.parallel.form(), "tensor");
}

// Ranks that share layers take the same rows.
TEST(GateTensor, LeavesRowsToTheOtherDims) {
  EXPECT_EQ(gate_from_text(tensor_gate("tensor = {}"), "").parts(), 1);
  EXPECT_EQ(gate_from_text(tensor_gate("tensor = {}\nfsdp = { mesh = \"dp\" }"), "").parts(), 2);
}

TEST(GateTensor, RefusesWhatDoesNotGoTogether) {
  expect_refused(tensor_gate("tensor = { mesh = \"xp\" }"), "one of dp, tp, got \"xp\"");
  expect_refused(tensor_gate("tensor = {}\nfsdp = { mesh = [\"dp\", \"tp\"] }"),
                 "a dim that fsdp.mesh doesn't have");
  for (const char* form : {"replicate", "zero", "context"})
    expect_refused(tensor_gate(std::string("tensor = {}\n") + form + " = { mesh = \"tp\" }"),
                   std::string("a dim that ") + form + ".mesh doesn't have");
  expect_refused(
      "[mesh]\nshape = [3]\n[model]\nkind = \"transformer\"\nwidth = 8\nheads = 4\n"
      "[data]\nsequence = 4\n[parallel]\ntensor = {}\n",
      "a dim that divides the 4 heads");
  expect_refused(tensor_gate("tensor = {}", "hidden = 9\n"),
                 "a dim that divides the 9 columns of fc1, got 4 ranks");
  std::string experts = tensor_gate("tensor = {}", "experts = 2\ntop_k = 1\nhidden = 6\n");
  experts.replace(experts.find("transformer"), 11, "moe");
  expect_refused(experts, "a dim that divides the 6 hidden columns of an expert, got 4 ranks");
  expect_refused("[mesh]\nshape = [2]\n[parallel]\ntensor = {}\n", "a model with attention");
  expect_refused(
      "[mesh]\nshape = [2]\n[model]\nlayers = 3\ndropout = 0.5\n[parallel]\ntensor = {}\n",
      "a model without dropout between fc1 and fc2");
  std::string sequences = tensor_gate("tensor = { sequence_parallel = true }");
  sequences.replace(sequences.find("sequence = 8"), 12, "sequence = 7");
  expect_refused(sequences, "positions that the 4 ranks of tensor.mesh divide");
  sequences = tensor_gate("tensor = { sequence_parallel = true }\ncontext = { mesh = \"dp\" }");
  sequences.replace(sequences.find("sequence = 8"), 12, "sequence = 12");
  expect_refused(sequences, "divide on each rank of context.mesh");
}

}  // namespace
}  // namespace simmesh
