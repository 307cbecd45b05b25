#include <benchmark/benchmark.h>
#include <chrono>

#include "collectives/process_group.h"
#include "core/autograd/backward.h"
#include "core/engine/world.h"
#include "core/nn/model_node.h"
#include "core/ops/neural/losses.h"
#include "core/ops/op_observer.h"
#include "core/ops/shapes/views.h"
#include "core/optim/sgd.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t layers = 4, width = 256, heads = 4, vocabulary = 512;
constexpr std::int64_t batch = 2, length = 64;  // per rank

nn::ModelNode node(std::string name, std::string kind,
                   std::map<std::string, nn::ModelNode::Field> fields,
                   std::vector<nn::ModelNode> children = {}) {
  return {std::move(name), std::move(kind), std::move(fields), std::move(children)};
}

nn::ModelNode linear(std::string name, std::int64_t in, std::int64_t out) {
  return node(std::move(name), "linear", {{"in", in}, {"out", out}, {"bias", false}});
}

nn::ModelNode transformer() {
  std::vector<nn::ModelNode> nodes{
      node("embedding", "embedding", {{"num", vocabulary}, {"dim", width}})};
  for (std::int64_t layer = 0; layer < layers; ++layer)
    nodes.push_back(
        node("layer" + std::to_string(layer), "block", {},
             {node("norm1", "rms_norm", {{"dim", width}}),
              node("attn", "attention", {{"dim", width}, {"heads", heads}, {"causal", true}}),
              node("norm2", "rms_norm", {{"dim", width}}),
              node("mlp", "sequential", {},
                   {linear("up", width, 4 * width), node("act", "silu", {}),
                    linear("down", 4 * width, width)})}));
  nodes.push_back(linear("head", width, vocabulary));
  return node("", "sequential", {}, std::move(nodes));
}

// Times one step of a transformer on 8 ranks, each with its own part of the batch. kernel_share is
// the time of the step over the time that the ranks spend in kernels; the part above 1 is overhead.
void transformer_step(benchmark::State& state) {
  std::size_t ranks = std::size_t(state.range(0));
  World world({.ranks = ranks, .stack_bytes = 256 * 1024});
  double best_ratio = 1e9;
  while (state.KeepRunning()) {
    double step_seconds = 0, kernel_seconds = 0;
    world.run([&](Rank& rank) {
      nn::ModulePtr model = nn::build(transformer());
      optim::Sgd optimizer(model->parameters(), {.lr = 1e-3});
      std::uint64_t seed = rank.id();
      Tensor tokens = formula({batch, length}, {.rule = Rule::index,
                                                .seed = seed,
                                                .below = std::uint64_t(vocabulary),
                                                .dtype = DType::int64});
      auto step = [&] {
        Tensor logits = (*model)(tokens);
        Tensor loss = cross_entropy(reshape(logits, {-1, vocabulary}), reshape(tokens, {-1}));
        backward(loss);
        optimizer.step();
        optimizer.zero_grad();
      };
      step();
      Clock::time_point begin = Clock::now(), kernel_begin;
      OpObserver observer([&](const Op&, OpObserver::Moment moment) {
        if (moment == OpObserver::Moment::before)
          kernel_begin = Clock::now();
        else
          kernel_seconds += std::chrono::duration<double>(Clock::now() - kernel_begin).count();
      });
      step();
      step_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    });
    state.SetIterationTime(step_seconds);
    best_ratio = std::min(best_ratio, step_seconds / kernel_seconds);
  }
  state.counters["of_kernels"] = best_ratio;
}
BENCHMARK(transformer_step)
    ->ArgName("ranks")
    ->Arg(8)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace simmesh
