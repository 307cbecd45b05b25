#pragma once

namespace simmesh {

// started_by_mpi is true if the environment says that a launcher of MPI started this process.
bool started_by_mpi();

// become_mpi_program goes on as simmesh-mpi, the program beside this one that links MPI: no other
// process waits for MPI's libraries to be loaded. argv is that of main, whose words it keeps.
// Returns only if it fails; errno says why.
void become_mpi_program(char** argv);

}  // namespace simmesh
