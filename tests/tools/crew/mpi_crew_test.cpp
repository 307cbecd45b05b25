#include "tools/crew/mpi_crew.h"

#include <cstdlib>
#include <gmock/gmock.h>

#include "tests/tools/crew/run_under_mpi.h"

namespace simmesh {
namespace {

#ifdef SIMMESH_MPIEXEC
using testing::run_under_mpi;

TEST(MpiCrew, PrintsTheBytesOfOneRun) {
  for (const std::string arguments :
       {"verify tests/cases/zero --limit 300", "run --quiet examples/gates/fsdp.toml",
        "run --json examples/gates/mlp.toml examples/gates/fsdp.toml examples/gates/zero2.toml",
        "explore examples/gates/mlp.toml --no-certificate --schedules 80", "validate sum add exp",
        "compose examples/compose/transformer.toml --ranks 2 --sample 9"}) {
    testing::ProgramRun alone = testing::run_program(arguments, SIMMESH_SOURCE_DIR);
    for (int processes : {1, 3}) {
      testing::ProgramRun run = run_under_mpi(processes, arguments);
      EXPECT_EQ(run.output, alone.output) << processes << " processes: " << arguments;
      EXPECT_EQ(run.status, alone.status) << run.output;
    }
  }
}

// mpirun says on further lines that the status isn't 0.
TEST(MpiCrew, PrintsAnErrorOnce) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"verify nowhere", "expected a file or a folder, got nowhere"},
      {"plan examples/gates/zero3.toml",
       "expected run, explore, verify, validate or compose in 3 processes of MPI"},
      {"explore --exhaustive examples/gates/mlp.toml", "expected no --exhaustive, --state, "},
      {"verify --nope", "expected a known option, got --nope"},
      {"verify tests/cases/zero --shard 1/2", "expected no --shard and no --results in processes"},
      {"compose examples/compose/moe.toml --html p.html", "expected no page in processes of MPI"},
      {"run --trace t.json examples/gates/mlp.toml", "expected no traces, no picture and no page"}};
  for (const auto& [arguments, phrase] : refused) {
    testing::ProgramRun run = run_under_mpi(3, arguments);
    EXPECT_EQ(run.status, 2) << run.output;
    std::size_t first = run.output.find(phrase);
    ASSERT_NE(first, run.output.npos) << run.output;
    EXPECT_EQ(run.output.find(phrase, first + 1), run.output.npos) << run.output;
  }
}

TEST(MpiCrew, PrintsHelpAndVersionOnce) {
  EXPECT_EQ(run_under_mpi(3, "--version").output,
            testing::run_program("--version", SIMMESH_SOURCE_DIR).output);
}
#endif

}  // namespace
}  // namespace simmesh
