// A training over processes of MPI that saves after each step, one of which may be killed:
// killed_world FOLDER [PROCESS EXCHANGE]. Process 0 prints the bits of the result and the number of
// its exchanges.
#include <cstdlib>
#include <fmt/core.h>
#include <mpi.h>

#include "core/engine/spread/mpi/mpi_processes.h"
#include "core/engine/spread/world_spread.h"
#include "tests/checkpoint/save_load/killed_training.h"

int main(int count, char** arguments) {
  using namespace simmesh;
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  {
    bool kills = count > 3;
    std::unique_ptr<Processes> processes = mpi_processes();
    checkpoint::KillingProcesses killing(*processes, kills ? std::atoi(arguments[2]) : 0,
                                         kills ? std::atoi(arguments[3]) : -1);
    WorldSpread spread(killing);
    SpreadScope scope(spread);
    std::string result = checkpoint::train_with_saves(arguments[1]);
    if (killing.number() == 0) fmt::print("{} {}\n", result, killing.exchanges());
  }
  MPI_Finalize();
}
