#include <gmock/gmock.h>

#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string libraries_of(const std::string& program) {
  return testing::run_program("LD_TRACE_LOADED_OBJECTS=1 '" + program + "'", ".", "/usr/bin/env")
      .output;
}

TEST(MpiMain, IsTheOnlyProgramThatLoadsMpi) {
  EXPECT_THAT(libraries_of(SIMMESH_PROGRAM),
              AllOf(HasSubstr("libstdc++"), Not(HasSubstr("libmpi"))));
#ifdef SIMMESH_MPIEXEC
  EXPECT_THAT(libraries_of(SIMMESH_PROGRAM "-mpi"), HasSubstr("libmpi"));
#endif
}

#ifdef SIMMESH_MPIEXEC
TEST(MpiMain, IsTheCommandWithoutALauncherToo) {
  for (const char* arguments : {"--help", "run --nope", "run --quiet examples/gates/mlp.toml"}) {
    testing::ProgramRun run =
        testing::run_program(arguments, SIMMESH_SOURCE_DIR, SIMMESH_PROGRAM "-mpi");
    testing::ProgramRun plain = testing::run_program(arguments, SIMMESH_SOURCE_DIR);
    EXPECT_EQ(run.output, plain.output);
    EXPECT_EQ(run.status, plain.status);
  }
}
#endif

}  // namespace
}  // namespace simmesh
