#include <benchmark/benchmark.h>
#include <chrono>
#include <fmt/format.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/engine/ranks/rank_figures.h"
#include "core/engine/world.h"
#include "core/ops/neural/attention.h"
#include "core/tensor/formula.h"
#include "sharding/parallel/context_parallel_attention.h"

// Times causal attention, forward and backward, over a sequence that all ranks of a world hold
// together, against one device's: the ranks share one processor, so `ratio` is the cost of the cut.
// With half of the scores left out, it may be below 1. `operations` are the collectives, sends,
// receives and waits of one rank.
namespace simmesh {
namespace {

constexpr std::int64_t length = 512, heads = 4, width = 32;

Tensor leaf(std::int64_t positions, std::uint64_t seed) {
  Tensor x = formula({1, heads, positions, width}, {.rule = Rule::unit, .seed = seed});
  set_requires_grad(x);
  return x;
}

struct Timed {
  double seconds = 1e9;
  std::uint64_t operations = 0;
};

using Step = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;

// Returns the fastest of several runs of one step.
Timed timed(benchmark::State& state, std::int64_t ranks, const Step& step) {
  Timed best;
  for (int repeat = 0; repeat < 5; ++repeat) {
    World world({.ranks = std::size_t(ranks)});
    auto start = std::chrono::steady_clock::now();
    Outcome outcome = world.run([&](Rank& rank) {
      std::int64_t own = length / ranks;
      Tensor output = step(leaf(own, 1), leaf(own, 2), leaf(own, 3));
      backward(output, {.gradients = {output.detach()}});
      if (rank.id() == 0) best.operations = RankFigures::of(rank).operations;
    });
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (!outcome.ok()) state.SkipWithError(report(outcome).c_str());
    best.seconds = std::min(best.seconds, taken.count());
  }
  return best;
}

void attend(benchmark::State& state, ContextMethod method) {
  Timed one = timed(state, 1, [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return scaled_dot_product_attention(q, k, v, {.is_causal = true, .scale = {}});
  });
  Timed cut;
  while (state.KeepRunning()) {
    cut = timed(state, state.range(0), [&](const Tensor& q, const Tensor& k, const Tensor& v) {
      return context_parallel_attention(q, k, v, ProcessGroup::world(),
                                        {.method = method, .is_causal = true, .scale = {}});
    });
    state.SetIterationTime(cut.seconds);
  }
  state.counters["ratio"] = cut.seconds / one.seconds;
  state.counters["operations"] = double(cut.operations);
}

void register_context_parallel() {
  const std::pair<const char*, ContextMethod> methods[] = {
      {"ring", ContextMethod::ring},
      {"all_gather", ContextMethod::all_gather},
      {"ulysses", ContextMethod::ulysses}};
  for (const auto& [name, method] : methods)
    benchmark::RegisterBenchmark(
        fmt::format("context_parallel/{}", name).c_str(),
        [method = method](benchmark::State& state) { attend(state, method); })
        ->ArgName("world")
        ->Arg(4)
        ->UseManualTime()
        ->Iterations(3)
        ->Unit(benchmark::kMillisecond);
}

const bool context_parallel_registered = (register_context_parallel(), true);

}  // namespace
}  // namespace simmesh
