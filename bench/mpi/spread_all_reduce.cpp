// Measures an all-reduce of 64 ranks over the processes of mpirun, and prints a line of JSON for
// each size: {"name": "all_reduce/ranks:64/processes:4/floats:4096", "us": 1234}. With the
// argument "own" each process is one rank of MPI's own all-reduce instead. Noise only adds time, so
// the smallest of several times counts.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fmt/core.h>
#include <memory>
#include <mpi.h>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collectives.h"
#include "core/engine/spread/mpi/mpi_processes.h"
#include "core/engine/spread/world_spread.h"
#include "core/engine/world.h"
#include "core/tensor/formula.h"

namespace {

using namespace simmesh;

constexpr std::size_t ranks = 64;
constexpr std::array<std::int64_t, 3> sizes = {16, 4096, 262144};
constexpr int repetitions = 5;
constexpr std::int64_t elements_of_one = 1 << 20;  // about the work of one measurement

int times_of(std::int64_t floats) {
  return int(std::clamp<std::int64_t>(elements_of_one / floats, 4, 40));
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the least seconds of a run of so many all-reduces.
double seconds_of_run(World& world, std::int64_t floats, int count) {
  double least = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    double start = now();
    world.run([&](Rank& rank) {
      Tensor x = formula(Dims{floats}, {.seed = rank.id(), .dtype = DType::float32});
      for (int done = 0; done < count; ++done) all_reduce(x, ReduceOp::sum, ProcessGroup::world());
    });
    least = std::min(least, now() - start);
  }
  return least;
}

// Returns the seconds of one all-reduce of ranks; start and end of their world cancel out.
double seconds_of_ranks(std::int64_t floats) {
  World world({.ranks = ranks});
  int times = times_of(floats);
  double once = seconds_of_run(world, floats, 1);
  return (seconds_of_run(world, floats, times + 1) - once) / times;
}

double seconds_of_mpi(std::int64_t floats) {
  std::vector<float> operand(std::size_t(floats), 1), sum(std::size_t(floats), 0);
  int times = times_of(floats);
  double least = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now();
    for (int done = 0; done < times; ++done)
      MPI_Allreduce(operand.data(), sum.data(), int(floats), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    least = std::min(least, (now() - start) / times);
  }
  return least;
}

void print(const std::string& name, double seconds) {
  fmt::print("{{\"name\": \"{}\", \"us\": {:.1f}}}\n", name, seconds * 1e6);
}

}  // namespace

int main(int count, char** arguments) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  bool is_own = count > 1 && std::strcmp(arguments[1], "own") == 0;
  {
    std::unique_ptr<Processes> processes = is_own ? nullptr : mpi_processes();
    int number = 0, processes_of_mpi = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &processes_of_mpi);
    for (std::int64_t floats : sizes) {
      std::unique_ptr<WorldSpread> spread;
      std::optional<SpreadScope> scope;
      if (processes) scope.emplace(*(spread = std::make_unique<WorldSpread>(*processes)));
      double seconds = is_own ? seconds_of_mpi(floats) : seconds_of_ranks(floats);
      if (number == 0)
        print(
            fmt::format("{}/processes:{}/floats:{}",
                        is_own ? "MPI_Allreduce" : "all_reduce/ranks:64", processes_of_mpi, floats),
            seconds);
    }
  }
  MPI_Finalize();
}
