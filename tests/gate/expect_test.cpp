#include <gmock/gmock.h>

#include "gate/explain.h"
#include "gate/file.h"
#include "gate/report.h"
#include "gate/run_gate.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string sharded_stack =
    "[mesh]\nshape = [2]\n[model]\nkind = \"linear_stack\"\nlayers = 1\nwidth = 4\n[parallel]\n"
    "fsdp = { wrap = \"root\" }\n[train]\nsteps = 2\n";

GateFile expecting(const std::string& keys) {
  return gate_from_text(sharded_stack + "[expect]\n" + keys, "g.toml");
}

const GateCheck& named_check(const GateResult& result, std::string_view name) {
  for (const GateCheck& check : result.checks)
    if (check.name == name) return check;
  ADD_FAILURE() << "no check " << name;
  static const GateCheck none;
  return none;
}

// The events of a step of a model whose root is its only group, after the first step.
const std::vector<std::string> second_step = {"(forward_root, )",
                                              "(unshard, , forward, sync)",
                                              "(all_gather, , 10, 20, 2, float32)",
                                              "(wait, , forward)",
                                              "(record_post_forward, , 0)",
                                              "(pre_backward, )",
                                              "(root_callback, )",
                                              "(post_backward, )",
                                              "(reshard, , post_backward, sharded)",
                                              "(reduce_scatter, , 20, 10, 2, float32, avg)",
                                              "(finalize, , clean)"};

std::string as_list(const std::vector<std::string>& events) {
  std::string text;
  for (const std::string& event : events) text += "\"" + event + "\", ";
  return "[" + text + "]";
}

TEST(GateExpect, ReadsEventsInEachForm) {
  EXPECT_THAT(expecting("events = [\"a, , 1\", \"(b)\", [\"c\", \"\", 2]]\n").expect.events.list,
              ElementsAre("(a, , 1)", "(b)", "(c, , 2)"));
  GateEvents events = expecting("events = { rank = 1, step = 1, list = [\"a\"] }\n").expect.events;
  EXPECT_EQ(events.rank, 1);
  EXPECT_EQ(events.step, 1);
  testing::TemporaryFolder folder;
  folder.write("list.txt", "# the first step\n(a, )\n\nb, 2\n");
  std::string gate =
      folder.write("g.toml", sharded_stack + "[expect]\nevents = { file = \"list.txt\" }\n");
  EXPECT_THAT(read_gate(gate).expect.events.list, ElementsAre("(a, )", "(b, 2)"));
  // The explained gate has the list itself, so it needs no file.
  std::string explained = explain(read_gate(gate));
  EXPECT_EQ(explain(gate_from_text(explained, "g.toml")), explained);
}

TEST(GateExpect, RefusesEventsThatCanNotBe) {
  auto refused = [](const std::string& keys, const std::string& phrase) {
    try {
      expecting(keys);
      ADD_FAILURE() << "expected a BadGate for " << keys;
    } catch (const BadGate& error) {
      EXPECT_THAT(error.what(), HasSubstr(phrase));
    }
  };
  refused("events = 3\n", "a table");
  refused("events = [3]\n", "a list of strings, or of lists of strings and integers");
  refused("events = { rank = 2 }\n", "from 0 to 1, got 2");
  refused("events = { step = 2 }\n", "from 0 to 1, got 2");
  refused("events = { file = \"no/such/file\" }\n",
          "a readable file of at most 1 MiB in the folder of the gate");
  refused("events = { file = \"/dev/zero\" }\n",
          "a readable file of at most 1 MiB in the folder of the gate");
  refused("events = { file = \"a\", list = [] }\n", "a file or a list");
  refused("events = { lists = [] }\n", "the nearest known key is 'expect.events.list'");
  refused("unused_gathers = -2\n", "from -1");
  refused("same_as = [\"zero4\"]\n", "'zero3' or a table with mesh and parallel, got 'zero4'");
  refused("same_as = [{ mesh = [2], parallel = { fdsp = {} } }]\n",
          "the nearest known key is 'expect.same_as.parallel.fsdp'");
  refused("same_as = [{ mesh = [16], parallel = { fsdp = {} } }]\n",
          "rows for each of 16 ranks in each of 1 micro-batches, got same_as fsdp on [16]");
  EXPECT_THROW(gate_from_text("[expect]\nevents = [\"a\"]\n", "g"), BadGate);
  EXPECT_THROW(gate_from_text("[expect]\nunused_gathers = 0\n", "g"), BadGate);
}

TEST(GateExpect, ChecksTheEventsOfTheRankAndStepThatAreNamed) {
  for (int rank : {0, 1}) {
    std::string place = fmt::format("events = {{ rank = {}, step = 1, list = ", rank);
    GateResult result = run_gate(expecting(place + as_list(second_step) + " }\n"));
    EXPECT_TRUE(named_check(result, fmt::format("events of rank {} in step 1", rank)).passed);
  }
}

// A mismatch names the first event that differs and prints the whole list, ready to be copied.
TEST(GateExpect, NamesTheFirstEventThatDiffers) {
  std::vector<std::string> wrong = second_step;
  wrong[3] = "(wait, , backward)";
  GateResult result = run_gate(expecting("events = { step = 1, list = " + as_list(wrong) + " }\n"));
  const GateCheck& check = named_check(result, "events of rank 0 in step 1");
  EXPECT_FALSE(check.passed);
  EXPECT_EQ(check.expected, "(wait, , backward) as event 3");
  EXPECT_EQ(check.actual, "(wait, , forward)");
  EXPECT_THAT(result.failure, HasSubstr("\n  (finalize, , clean)"));
  wrong = second_step;
  wrong.emplace_back("(more)");
  result = run_gate(expecting("events = { step = 1, list = " + as_list(wrong) + " }\n"));
  EXPECT_EQ(named_check(result, "events of rank 0 in step 1").actual, "no further event");
}

// If a module is prefetched but never called, its all-gather is unused.
TEST(GateExpect, CountsGathersThatNobodyUsed) {
  std::string text =
      "[mesh]\nshape = [2]\n[model]\nnodes = [{ name = \"s\", kind = \"sequential\", calls = "
      "[\"a\", \"c\"], children = [{ name = \"a\", kind = \"linear\", in = 4, out = 4 }, { name = "
      "\"b\", kind = \"linear\", in = 4, out = 4 }, { name = \"c\", kind = \"linear\", in = 4, out "
      "= 4 }] }]\n[data]\ninput = [4]\n[parallel]\nfsdp = { wrap = [\"s.a\", \"s.b\", \"s.c\"], "
      "forward_prefetch = 1 }\n[expect]\nunused_gathers = 0\n";
  GateResult result = run_gate(gate_from_text(text, "g.toml"));
  EXPECT_EQ(result.gathers->unused(), 1);
  EXPECT_EQ(named_check(result, "unused_gathers").actual, "1 on rank 0");
  EXPECT_EQ(result.failed(), 1);
}

TEST(GateExpect, ComparesWithOtherRuns) {
  GateResult result = run_gate(expecting(
      "same_as = [\"single_device\", \"replicate\", \"fsdp\", { mesh = [2, 2], names = [\"a\", "
      "\"b\"], parallel = { fsdp = { mesh = [\"a\", \"b\"] } } }]\n[arithmetic]\nmode = "
      "\"exact\"\n"));
  EXPECT_EQ(result.failed(), 0) << to_text(gsl::span<const GateResult>(&result, 1));
  EXPECT_TRUE(named_check(result, "same_as replicate").passed);
  EXPECT_TRUE(named_check(result, "same_as fsdp on [2, 2]").passed);
}

// Each comparison is with its own run: a run that differs must not be hidden by one that doesn't.
TEST(GateExpect, TellsOtherRunsApart) {
  std::string text =
      "[mesh]\nshape = [3]\n[model]\nwidth = 6\ninit = { scale = 0.5 }\n[data]\nrule = \"wide\"\n"
      "batch = 30\n[parallel]\nfsdp = {}\n[expect]\nsame_as = [\"single_device\", \"fsdp\"]\n";
  GateResult result = run_gate(gate_from_text(text, "g.toml"));
  EXPECT_FALSE(named_check(result, "same_as single_device").passed);
  EXPECT_TRUE(named_check(result, "same_as fsdp").passed);
}

// Without a device there are no times; with one, reports take no time.
TEST(GateExpect, PrintsExposedCommunicationOfDevices) {
  GateResult plain = run_gate(expecting(""));
  EXPECT_FALSE(plain.device);
  std::string device = "[device]\nteraflops = 1.0\ncapacity_bytes = 1_000_000_000\n";
  GateFile gate = gate_from_text(
      sharded_stack + device + "[expect]\nschedules = 2\nexposed_us_max = 0.5\n", "g.toml");
  GateResult result = run_gate(gate);
  EXPECT_EQ(result.data_hash, plain.data_hash);
  EXPECT_GT(result.device->exposed_communication_us, 0.0);
  EXPECT_GT(result.device->makespan_us, result.device->exposed_communication_us);
  EXPECT_GT(result.device->reserved_bytes, 0);
  EXPECT_FALSE(named_check(result, "exposed_us_max").passed);
  EXPECT_TRUE(named_check(result, "device").passed);
  EXPECT_THAT(to_text(gsl::span<const GateResult>(&result, 1)),
              HasSubstr(" us, communication exposed for "));
  EXPECT_EQ(explain(gate_from_text(explain(gate), "g.toml")), explain(gate));
  EXPECT_THAT(explain(gate), HasSubstr("\n[device]\nlaunch_us = 2.0\n"));
  EXPECT_THROW(expecting("exposed_us_max = 1.0\n"), BadGate);
}

// A device that is too small ends the run with devices, and no other run.
TEST(GateExpect, ADeviceThatIsTooSmallFails) {
  GateResult result =
      run_gate(gate_from_text(sharded_stack + "[device]\ncapacity_bytes = 1024\n", "g.toml"));
  EXPECT_FALSE(named_check(result, "device").passed);
  EXPECT_TRUE(named_check(result, "run").passed);
  EXPECT_FALSE(result.device);
}

}  // namespace
}  // namespace simmesh
