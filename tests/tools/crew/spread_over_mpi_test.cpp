#ifdef SIMMESH_MPIEXEC
#include <gmock/gmock.h>

#include "core/engine/spread/mpi/mpi_processes.h"
#include "tests/tools/crew/run_under_mpi.h"

namespace simmesh {
namespace {

std::string hashes_in(const std::string& text) {
  std::string hashes;
  for (std::size_t at = 0; (at = text.find("hash ", at)) != text.npos; at += 5)
    hashes += text.substr(at, 21) + " ";
  return hashes;
}

// Ranks of a world over MPI would get other bytes than in one process.
TEST(MpiProcesses, GatesHaveTheHashesOfOneProcess) {
  std::string gates = "examples/gates/fsdp.toml examples/gates/pipeline.toml";
  auto alone = testing::run_program("run " + gates, SIMMESH_SOURCE_DIR);
  for (int processes : {2, 3}) {
    auto run = testing::run_under_mpi(processes, "run --spread " + gates);
    EXPECT_EQ(run.status, 0) << run.output;
    EXPECT_EQ(hashes_in(run.output), hashes_in(alone.output));
  }
}

// Processes in processes would each print.
TEST(MpiProcesses, RefuseProcessesOfTheirOwn) {
  auto run = testing::run_under_mpi(2, "run --processes 2 examples/gates/mlp.toml");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.output, ::testing::HasSubstr("expected --spread under mpirun"));
}

}  // namespace
}  // namespace simmesh
#endif
