#include <csignal>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include "core/engine/spread/world_spread.h"
#include "gate/run_gate.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using ::testing::HasSubstr;
using testing::run_text;
using testing::text_of;

std::string training_on(const std::string& seats, const std::string& expect) {
  return "[world]\nseats = \"" + seats +
         "\"\n[mesh]\nshape = [3]\n[data]\nbatch = 6\n[parallel]\nfsdp = {}\n[train]\nsteps = 2\n"
         "optimizer = { kind = \"adamw\" }\n" +
         testing::exact_mode + "[expect]\n" + expect;
}

// Returns the text of a gate without the physical peak, which is that of all ranks in one process.
std::string text_without_peak(GateResult result) {
  result.physical_peak_bytes.reset();
  return text_of(result);
}

// A gate would be judged by another run than that of its fibers.
TEST(ProcessSeats, AGateHasTheResultsOfFibers) {
  const std::string expect = "same_as = [\"single_device\"]\nschedules = 3\n";
  for (const char* schedule : {"fifo", "seeded:1", "pct:2"}) {
    GateResult fibers = run_text(training_on("fibers", expect), {.schedule = schedule});
    GateResult processes = run_text(training_on("processes", expect), {.schedule = schedule});
    EXPECT_EQ(processes.failed(), 0) << text_of(processes);
    EXPECT_EQ(text_of(processes), text_without_peak(fibers));
  }
}

// The failure of a rank in another process would be lost.
TEST(ProcessSeats, AFailureIsThatOfFibers) {
  const std::string fault =
      "loss = [0, 0]\n[faults]\nkill = { rank = 2, at = \"step 1 forward\" }\n";
  GateResult fibers = run_text(training_on("fibers", fault));
  GateResult processes = run_text(training_on("processes", fault));
  EXPECT_EQ(text_of(processes), text_without_peak(fibers));
  EXPECT_EQ(processes.failed(), 2);
}

// The key would do nothing, or leave processes behind.
TEST(ProcessSeats, EachRankIsAProcessWhileTheWorkRuns) {
  auto processes_of = [](const std::string& text) {
    GateFile gate = gate_from_text(text, "g.toml");
    int count = 0;
    run_on_process_seats(gate, [&] {
      count = WorldSpread::active() ? WorldSpread::active()->count() : 1;
      // Within them nothing is forked once more.
      run_on_process_seats(gate, [] {});
    });
    return count;
  };
  EXPECT_EQ(processes_of(training_on("processes", "")), 3);
  EXPECT_EQ(processes_of(training_on("fibers", "")), 1);
  EXPECT_EQ(processes_of("[world]\nseats = \"processes\"\n"), 1);
  EXPECT_EQ(WorldSpread::active(), nullptr);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

// An error of the gate would come without its place, and a killed process would leave the others.
TEST(ProcessSeats, RaisesErrorsOfTheWork) {
  GateFile gate = gate_from_text(training_on("processes", ""), "g.toml");
  auto run = [&](const std::function<void()>& work) { run_on_process_seats(gate, work); };
  EXPECT_THROW(run([] { throw BadGate("g.toml:1:1", "expected a gate"); }), BadGate);
  try {
    run([] {
      if (WorldSpread::active()->number() == 2) std::raise(SIGKILL);
    });
    ADD_FAILURE() << "no error";
  } catch (const ProcessLost& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("expected process 2 of 3 to go on, got its end: by signal"));
  }
}

TEST(ProcessSeats, RefusesWhatTheyCannotBe) {
  expect_refused("[world]\nseats = \"threads\"\n", "key 'world.seats'");
  expect_refused("[world]\nshapes_only = true\nseats = \"processes\"\n",
                 "[g.toml:3:9] key 'world.seats': expected \"fibers\" with shapes_only = true");
  expect_refused("[world]\nseats = \"processes\"\n[mesh]\nshape = [257]\n[data]\nbatch = 257\n",
                 "[g.toml:2:9] key 'world.seats': expected \"fibers\" for more than 256 ranks, got "
                 "\"processes\" for 257");
  GateFile gate = gate_from_text(training_on("processes", ""), "g.toml");
  EXPECT_THROW(expect_process_seats(gate, {}, 2), Error);
  EXPECT_THROW(expect_process_seats(gate, {.threads = 2}, 1), Error);
  EXPECT_NO_THROW(expect_process_seats(gate, {}, 1));
  gate.world.seats_are_processes = false;
  EXPECT_NO_THROW(expect_process_seats(gate, {}, 2));
}

}  // namespace
}  // namespace simmesh
