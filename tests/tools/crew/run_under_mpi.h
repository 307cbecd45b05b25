#pragma once

#include <string>

#include "tests/tools/run_program.h"

namespace simmesh::testing {

#ifdef SIMMESH_MPIEXEC
// run_under_mpi runs the command in some processes, more than there are cores, also as root. What
// Open MPI leaks isn't reported where the command is built with AddressSanitizer.
inline ProgramRun run_under_mpi(int processes, const std::string& arguments,
                                const std::string& program = SIMMESH_PROGRAM) {
  return run_program(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" OMPI_MCA_rmaps_base_oversubscribe=1 "
      "OMPI_MCA_hwloc_base_binding_policy=none "
      "'" SIMMESH_MPIEXEC "' -n " +
          std::to_string(processes) + " '" + program + "' " + arguments,
      SIMMESH_SOURCE_DIR, "/usr/bin/env");
}
#endif

}  // namespace simmesh::testing
