#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::ProgramRun;

// If this fails, the first gates that somebody runs tell something else than the whole program.
TEST(GatesMain, PrintsWhatTheWholeProgramPrints) {
  testing::TemporaryFolder folder;
  std::string gate = folder.write("small.toml", "[mesh]\nshape = [2]\n[parallel]\nfsdp = {}\n");
  std::string bad = folder.write("bad.toml", "[mesh]\nshape = [0]\n");
  for (const std::string& arguments : {"run " + gate, "run --json " + gate, "run " + bad}) {
    ProgramRun whole = testing::run_program(arguments);
    ProgramRun gates = testing::run_program(arguments, ".", SIMMESH_GATES_PROGRAM);
    EXPECT_EQ(gates.status, whole.status);
    EXPECT_EQ(gates.output, whole.output);
  }
}

}  // namespace
}  // namespace simmesh
