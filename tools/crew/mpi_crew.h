#pragma once

#include <memory>

#include "tools/crew/crew.h"

namespace simmesh {

// mpi_crew returns the crew of the processes that mpirun, or another launcher of MPI, started with
// this one; nullptr for a process that none started. Each process calls it once, first of all,
// since on all but process 0 standard output leads nowhere from then on. Process 0 has a thread
// that hands out jobs; no process spins while it waits.
std::unique_ptr<Crew> mpi_crew();

}  // namespace simmesh
