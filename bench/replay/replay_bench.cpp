#include <algorithm>
#include <benchmark/benchmark.h>
#include <ctime>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "collectives/collectives.h"
#include "replay/job/job_groups.h"
#include "replay/run/replay_job.h"

// Times one collective of the replayed DLRM job (8 ranks, 64 collectives an iteration, all of their
// data) beside the same collectives called one after another by a program that has them written
// down. Both work in place and refill their inputs before each call. The fastest of several batches
// counts, and time is the processor's: the work is one thread that never waits.
namespace simmesh::replay {
namespace {

constexpr int batches = 5;
constexpr std::int64_t iterations = 20;
constexpr double collectives = 64.0 * double(iterations);

ReplayProgram dlrm_program() {
  std::vector<std::string> paths = {SIMMESH_SOURCE_DIR
                                    "/tests/cases/replay/dlrm_pytorch_et.tar.gz"};
  TraceJob job = read_job(paths);
  Findings findings;
  return make_program(job, resolve_groups(job, findings), {.computes = false});
}

double replay_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

template <class F>
double least_replay_seconds(F&& batch) {
  double least = 1e9;
  for (int i = 0; i < batches; ++i) {
    double start = replay_seconds();
    batch();
    least = std::min(least, replay_seconds() - start);
  }
  return least;
}

double replayed_us(const ReplayProgram& program) {
  auto run = [&](std::int64_t times) {
    ReplayJobOptions options;
    options.run.iterations = times;
    options.run.allocation = Allocation::pre;
    return least_replay_seconds([&] { replay_job(program, options).outcome.rethrow(); });
  };
  return (run(iterations + 1) - run(1)) / collectives * 1e6;
}

// The part of one rank of the job, written down.
class DirectRank {
 public:
  explicit DirectRank(std::int64_t rank) : group_(ProcessGroup::world()) {
    const std::int64_t sent[] = {96, 224, 288, 1664, 592, 96, 192, 240};
    for (std::int64_t part : sent) {
      uneven_.input.push_back(part);
      uneven_.output.push_back(sent[rank]);
      large_.input.push_back(768);
      small_.input.push_back(48);
      tiny_.input.push_back(3);
    }
    for (Splits* even : {&large_, &small_, &tiny_}) even->output = even->input;
    for (std::int64_t elements : {6144, 24, 384, 3392, 394241, 6144, 112, 226960}) {
      DType dtype = elements == 24                        ? DType::int64
                    : elements == 384 || elements == 3392 ? DType::int32
                                                          : DType::float32;
      Formula data{.rule = Rule::small, .seed = std::uint64_t(rank), .dtype = dtype};
      payloads_.push_back(formula({elements}, data));
      inputs_.push_back(empty({elements}, dtype));
    }
    received_ = empty({8 * sent[rank]}, DType::int32);
  }

  void run_iteration() {
    barrier(group_);
    exchange(0, large_);
    exchange(1, tiny_);
    exchange(2, small_);
    adopt_(inputs_[3], payloads_[3]);
    adopt_(received_, all_to_all_single(inputs_[3], uneven_, group_));
    sum(4);
    exchange(5, large_);
    sum(6);
    sum(7);
  }

 private:
  void exchange(std::size_t index, const Splits& splits) {
    adopt_(inputs_[index], payloads_[index]);
    adopt_(inputs_[index], all_to_all_single(inputs_[index], splits, group_));
  }
  void sum(std::size_t index) {
    adopt_(inputs_[index], payloads_[index]);
    all_reduce_(inputs_[index], ReduceOp::sum, group_);
  }

  ProcessGroup group_;
  Splits uneven_, large_, small_, tiny_;
  std::vector<Tensor> payloads_, inputs_;
  Tensor received_;
};

double direct_us() {
  auto run = [&](std::int64_t times) {
    return least_replay_seconds([&] {
      World world({.ranks = 8});
      world
          .run([&](Rank& rank) {
            DirectRank direct(rank.id());
            for (std::int64_t i = 0; i < times; ++i) direct.run_iteration();
          })
          .rethrow();
    });
  };
  return (run(iterations + 1) - run(1)) / collectives * 1e6;
}

void replay_dlrm(benchmark::State& state) {
  ReplayProgram program = dlrm_program();
  while (state.KeepRunning()) {
    double replayed = replayed_us(program), direct = direct_us();
    state.SetIterationTime(replayed / 1e6);
    state.counters["direct_us"] = direct;
    state.counters["ratio"] = replayed / direct;
    state.counters["limit"] = 1.5;
  }
}
BENCHMARK(replay_dlrm)->UseManualTime()->Iterations(1)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace simmesh::replay
