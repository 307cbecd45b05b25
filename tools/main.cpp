#include <cstdio>
#include <memory>

#include "core/memory/memory_reserve.h"
#include "tools/command.h"
#include "tools/crew/mpi_crew.h"

// Made before the objects of other sources, which allocate.
[[gnu::init_priority(101)]] const simmesh::MemoryReserve reserve(2);

int main(int argc, char** argv) {
#ifdef SIMMESH_HAS_MPI
  std::unique_ptr<simmesh::Crew> crew = simmesh::mpi_crew();
#else
  if (simmesh::started_by_mpi()) {
    std::fputs(
        "simmesh: expected a build with MPI under mpirun, got one without: install MPI with "
        "its headers, and configure the build again\n",
        stderr);
    return 2;
  }
#endif
  return simmesh::run_command(argc, argv);
}
