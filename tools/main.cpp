#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/memory/memory_reserve.h"
#include "tools/command.h"
#include "tools/crew/mpi_program.h"

// Made before the objects of other sources, which allocate.
[[gnu::init_priority(101)]] const simmesh::MemoryReserve reserve(2);

int main(int argc, char** argv) {
  if (simmesh::started_by_mpi()) {
    simmesh::become_mpi_program(argv);
    std::fprintf(stderr,
                 "simmesh: expected the program simmesh-mpi beside this one under mpirun, got: %s. "
                 "A build makes it where it finds MPI with its headers\n",
                 std::strerror(errno));
    return 2;
  }
  return simmesh::run_command(argc, argv);
}
