// How are the ranks of one world spread over the processes of mpirun, with the bits of one process?
// mpirun -n 3 example_mpi_training: each process has some of eight ranks, and process 0 prints.
#include <fmt/core.h>
#include <mpi.h>

#include <simmesh/core/engine/spread/mpi/mpi_processes.h>
#include <simmesh/core/engine/spread/world_spread.h>
#include <simmesh/core/tensor/scalar_value.h>
#include <simmesh/simmesh.h>

using namespace simmesh;

constexpr std::int64_t ranks = 8, width = 8, batch = 16, steps = 3;

double train(Rank& rank) {
  DeviceMesh mesh = init_device_mesh({ranks}, {"dp"});
  manual_seed(7);
  auto model = nn::make_mlp({.width = width, .hidden = 4 * width, .out = width});
  fsdp::fully_shard(*model, {.mesh = mesh});
  optim::AdamW optimizer(model->parameters(), {.lr = 1e-2});
  Tensor::Narrow own{.dim = 0, .start = rank.id() * (batch / ranks), .length = batch / ranks};
  Tensor input = formula({batch, width}, {.rule = Rule::unit, .seed = 1}).narrow(own);
  Tensor target = formula({batch, width}, {.rule = Rule::unit, .seed = 2}).narrow(own);
  Tensor loss;
  for (std::int64_t step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    loss = mse_loss((*model)(input), target);
    backward(loss);
    optimizer.step();
  }
  Tensor mean = loss.detach().clone();
  all_reduce(mean, ReduceOp::avg, ProcessGroup::world());
  rank.record(mean);
  return scalar_value(mean);  // known to all processes
}

// Returns the data hash and the loss of a run, in words.
std::string run() {
  double loss = 0;
  Outcome outcome = World({.ranks = ranks, .arithmetic = Arithmetic::exact()}).run([&](Rank& rank) {
    double mean = train(rank);
    if (rank.id() == 0) loss = mean;
  });
  if (!outcome.ok()) return report(outcome);
  return fmt::format("loss {}, data hash {:016x}", loss, outcome.data_hash);
}

int main() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  {
    std::unique_ptr<Processes> processes = mpi_processes();
    bool is_first = processes->number() == 0;
    std::string alone = is_first ? run() : "";
    WorldSpread spread(*processes);
    SpreadScope scope(spread);
    std::string text = run();
    if (is_first) fmt::print("8 ranks over {} processes: {}\n", processes->count(), text);
    if (is_first) fmt::print("{} one process gives\n", text == alone ? "as" : "NOT what");
  }
  MPI_Finalize();
}
