#include "gate/fit.h"

#include <gtest/gtest.h>

#include "gate/file.h"

namespace simmesh {
namespace {

GateFile gate_of(const std::string& text) { return gate_from_text(text, "g.toml"); }

// A rank without rows would leave out its collectives.
TEST(GateFit, GivesRowsToEachRankInEachMicroBatch) {
  EXPECT_TRUE(gives_rows({.batch = 7, .micro_batches = 2, .parts = 3}));   // four rows and three
  EXPECT_FALSE(gives_rows({.batch = 7, .micro_batches = 2, .parts = 4}));  // three are too few
}

// Pieces of a sequence are equal on all ranks of tensor, also where context cuts it first.
TEST(GateFit, DividesThePositionsThatARankHas) {
  const std::string model =
      "[mesh]\nshape = [2, 2]\nnames = [\"cp\", \"tp\"]\n[model]\nkind = \"transformer\"\n";
  GateFile gate = gate_of(
      model +
      "[data]\nsequence = 8\n[parallel]\ncontext = { mesh = \"cp\", order = \"contiguous\" }\n"
      "tensor = { mesh = \"tp\", sequence_parallel = true }\n");
  EXPECT_TRUE(divides_positions(gate.data.input.front(), gate.parallel, gate.mesh));
  gate.data.input = {6};
  EXPECT_FALSE(divides_positions(gate.data.input.front(), gate.parallel, gate.mesh));
  gate.parallel.context.reset();
  EXPECT_TRUE(divides_positions(gate.data.input.front(), gate.parallel, gate.mesh));
  gate.data.input = {7};
  EXPECT_FALSE(divides_positions(gate.data.input.front(), gate.parallel, gate.mesh));
  gate.parallel.tensor.reset();
  EXPECT_TRUE(divides_positions(gate.data.input.front(), gate.parallel, gate.mesh));
}

}  // namespace
}  // namespace simmesh
