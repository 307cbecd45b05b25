#include "tools/crew/mpi_program.h"

#include <filesystem>
#include <gmock/gmock.h>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

TEST(MpiProgram, IsLookedForBesideTheProgram) {
  testing::TemporaryFolder folder;
  std::string alone = (folder.path() / "simmesh").string();
  std::filesystem::copy_file(SIMMESH_PROGRAM, alone);
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    testing::ProgramRun run = testing::run_program(
        std::string(variable) + "=2 '" + alone + "' --version", ".", "/usr/bin/env");
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(
        run.output,
        "simmesh: expected the program simmesh-mpi beside this one under mpirun, got: No such "
        "file or directory. A build makes it where it finds MPI with its headers\n");
  }
}

}  // namespace
}  // namespace simmesh
