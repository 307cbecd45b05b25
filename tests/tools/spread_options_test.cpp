#include "tools/spread_options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using testing::run_program;

const std::string spread_gates = "examples/gates/fsdp.toml examples/gates/moe.toml ";

// The bytes of a run, without those of its process.
std::string without_physical(std::string text) {
  for (std::size_t end; (end = text.find(" physical bytes")) != text.npos;) {
    std::size_t begin = text.rfind(',', end);
    text.erase(begin, end + std::string(" physical bytes").size() - begin);
  }
  return text;
}

// Gates, some of which go on by values, would print something else in several processes.
TEST(SpreadOptions, GatesPrintTheSameInSeveralProcesses) {
  std::string alone = run_program("run " + spread_gates, SIMMESH_SOURCE_DIR).output;
  for (int processes : {1, 2, 3, 4}) {
    auto run = run_program("run --processes " + std::to_string(processes) + " " + spread_gates,
                           SIMMESH_SOURCE_DIR);
    EXPECT_EQ(run.status, 0);
    EXPECT_EQ(without_physical(run.output), without_physical(alone)) << processes << " processes";
  }
}

// The default gates would have other hashes.
TEST(SpreadOptions, DISABLED_AllGatesPrintTheSameInSeveralProcesses) {
  std::string alone = run_program("run examples/gates/*.toml", SIMMESH_SOURCE_DIR).output;
  for (int processes : {2, 3, 4})
    EXPECT_EQ(without_physical(run_program("run --processes " + std::to_string(processes) +
                                               " examples/gates/*.toml",
                                           SIMMESH_SOURCE_DIR)
                                   .output),
              without_physical(alone))
        << processes << " processes";
}

// Recorded cases would be compared with what one process has.
TEST(SpreadOptions, CasesPrintTheSameInSeveralProcesses) {
  std::string cases = "tests/cases/pytorch --limit 100";
  auto alone = run_program("verify " + cases, SIMMESH_SOURCE_DIR);
  auto run = run_program("verify --processes 3 " + cases, SIMMESH_SOURCE_DIR);
  EXPECT_EQ(run.output, alone.output);
  EXPECT_EQ(run.status, 0);
}

// An option that has no effect would seem to have one.
TEST(SpreadOptions, RefuseWhatASpreadWorldCannotHave) {
  for (const auto& [arguments, phrase] : std::vector<std::pair<std::string, std::string>>{
           {"--processes 2 --threads 2", "expected no --threads with --processes"},
           {"--processes 2 --jobs 2", "expected no --jobs with --processes"},
           {"--processes 0", "expected a whole number"},
           {"--spread", "expected --spread under mpirun, got it without"}}) {
    auto run = run_program(fmt::format("run {} {}", arguments, spread_gates), SIMMESH_SOURCE_DIR);
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.output, HasSubstr(phrase));
    EXPECT_EQ(run.line_count(), 1u) << run.output;
  }
}

}  // namespace
}  // namespace simmesh
