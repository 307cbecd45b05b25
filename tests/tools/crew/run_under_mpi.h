#pragma once

#include <string>

#include "tests/tools/run_program.h"

namespace simmesh::testing {

#ifdef SIMMESH_MPIEXEC
// run_under_mpi runs the command in some processes, more than there are cores, also as root. Where
// the command is built with sanitizers, faults of Open MPI itself aren't reported: what it leaks,
// how its threads share memory, and the order of its locks.
inline ProgramRun run_under_mpi(int processes, const std::string& arguments,
                                const std::string& program = SIMMESH_PROGRAM) {
  return run_program(
      SIMMESH_OPEN_MPI
          "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" "
          "TSAN_OPTIONS=\"$TSAN_OPTIONS:detect_deadlocks=0:suppressions=" SIMMESH_SOURCE_DIR
          "/tests/tools/crew/open_mpi.supp\" '" SIMMESH_MPIEXEC "' -n " +
          std::to_string(processes) + " '" + program + "' " + arguments,
      SIMMESH_SOURCE_DIR, "/usr/bin/env");
}
#endif

}  // namespace simmesh::testing
