#include <memory>

#include "core/memory/memory_reserve.h"
#include "tools/command.h"
#include "tools/crew/mpi_crew.h"

// Made before the objects of other sources, which allocate.
[[gnu::init_priority(101)]] const simmesh::MemoryReserve reserve(2);

// `simmesh` over the processes of MPI, which `simmesh` becomes under mpirun.
int main(int argc, char** argv) {
  std::unique_ptr<simmesh::Crew> crew = simmesh::mpi_crew();
  return simmesh::run_command(argc, argv);
}
