#pragma once

#include <memory>

#include "core/engine/spread/processes.h"

namespace simmesh {

// mpi_processes returns the processes of MPI, over which worlds are spread. All of them make the
// object together, after MPI_Init_thread and before MPI_Finalize. No process takes a core while it
// waits. MPI ends all processes if one of them ends early.
std::unique_ptr<Processes> mpi_processes();

}  // namespace simmesh
