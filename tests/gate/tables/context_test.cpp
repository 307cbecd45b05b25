#include "gate/tables/context.h"

#include <gtest/gtest.h>

#include "gate/explain.h"
#include "gate/file.h"
#include "gate/run_gate.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

std::string gate_text(const std::string& parallel, const std::string& rest = "") {
  return "[mesh]\nshape = [2, 3]\nnames = [\"dp\", \"cp\"]\n"
         "[model]\nkind = \"transformer\"\nlayers = 1\nwidth = 8\nvocabulary = 11\n"
         "init = { scale = 0.1 }\n[data]\nbatch = 4\nsequence = 7\n"
         "[parallel]\n" +
         parallel + "\n[train]\nsteps = 2\n[arithmetic]\nmode = \"exact\"\n" + rest;
}

void expect_bad_context(const std::string& parallel, std::string_view words) {
  testing::expect_refused(gate_text(parallel), words);
}

TEST(GateContext, ReadsItsKeys) {
  GateFile gate = gate_from_text(
      gate_text("context = { mesh = \"cp\", method = \"ulysses\", order = \"contiguous\" }"), "");
  ASSERT_TRUE(gate.parallel.context);
  EXPECT_EQ(gate.parallel.context->mesh, "cp");
  EXPECT_EQ(gate.parallel.context->style.method, ContextMethod::ulysses);
  EXPECT_EQ(gate.parallel.context->style.order, SequenceOrder::contiguous);
  EXPECT_EQ(context_entry(*gate.parallel.context),
            "{ mesh = \"cp\", method = \"ulysses\", order = \"contiguous\" }");
  EXPECT_EQ(gate.parallel.form(), "context");
}

// Rows are cut over the dims that don't cut sequences.
TEST(GateContext, LeavesRowsToTheOtherDims) {
  auto parts = [](const std::string& parallel) {
    return gate_from_text(gate_text(parallel), "").parts();
  };
  EXPECT_EQ(parts("context = { mesh = \"cp\" }"), 1);
  EXPECT_EQ(parts("replicate = { mesh = \"dp\" }\ncontext = { mesh = \"cp\" }"), 2);
  EXPECT_EQ(parts("fsdp = { mesh = [\"dp\", \"cp\"] }\ncontext = { mesh = \"cp\" }"), 2);
  EXPECT_EQ(parts("fsdp = { mesh = \"cp\" }\ncontext = { mesh = \"cp\" }"), 1);
  EXPECT_EQ(parts("fsdp = { mesh = \"dp\" }\ncontext = { mesh = \"cp\" }"), 2);
  EXPECT_EQ(parts("zero = { mesh = \"dp\" }\ncontext = { mesh = \"cp\" }"), 2);
  EXPECT_EQ(parts("zero = { mesh = \"cp\" }\ncontext = { mesh = \"cp\" }"), 1);
}

TEST(GateContext, RefusesWhatDoesNotGoTogether) {
  expect_bad_context("context = { mesh = \"xp\" }", "one of dp, cp, got \"xp\"");
  expect_bad_context("context = { method = \"rang\" }", "one of ring, all_gather, ulysses");
  testing::expect_refused("[mesh]\nshape = [2]\n[parallel]\ncontext = {}\n",
                          "a model with attention");
}

TEST(GateContext, TrainsAsOneDevice) {
  for (const char* parallel :
       {"context = { mesh = \"cp\" }",
        "replicate = { mesh = \"dp\" }\ncontext = { mesh = \"cp\", method = \"all_gather\" }",
        "fsdp = { mesh = [\"dp\", \"cp\"] }\ncontext = { mesh = \"cp\", method = \"ulysses\" }"}) {
    GateFile gate = gate_from_text(
        gate_text(parallel, "[expect]\nsame_as = [\"single_device\"]\nschedules = 5\n"), "");
    GateResult result = run_gate(gate, {});
    for (const GateCheck& check : result.checks)
      EXPECT_TRUE(check.passed) << parallel << ": " << check.name << ": " << check.expected
                                << "; got " << check.actual;
  }
}

}  // namespace
}  // namespace simmesh
