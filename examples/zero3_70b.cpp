// What does a training step of Llama-3 70B under ZeRO stage 3 cost each of 1,024 ranks?
#include <fmt/core.h>
#include <map>

#include <simmesh/simmesh.h>
#include <simmesh/zero/fetch/event.h>
#include <simmesh/zero/fetch/pretty.h>

using namespace simmesh;

constexpr std::int64_t width = 8192, vocabulary = 128256, length = 8192;
const nn::ParameterOptions in_bf16 = {.dtype = DType::bfloat16, .device = nn::Device::meta};

template <class Module>
nn::ModulePtr make(const typename Module::Options& options) {
  return std::make_shared<Module>(options);
}

nn::ModulePtr make_block() {
  nn::Attention::Options attention{.width = width, .heads = 64, .causal = true};
  attention.parameters = in_bf16;
  attention.kv_heads = 8;
  attention.rotary_theta = 500000.0;
  attention.flash = true;
  nn::ModulePtr norms[] = {make<nn::RMSNorm>({width, 1e-5, in_bf16}),
                           make<nn::RMSNorm>({width, 1e-5, in_bf16})};
  auto mlp = make<nn::GatedMlp>({.width = width, .hidden = 28672, .parameters = in_bf16});
  auto block = std::make_shared<nn::Block>(
      nn::Block::Children{norms[0], make<nn::Attention>(attention), norms[1], mlp});
  block->set_checkpointing(CheckpointOptions{});
  return block;
}

void train(Rank& rank) {
  ProcessGroup world = ProcessGroup::world();
  std::optional<zero::Init> init(std::in_place, world);
  std::vector<nn::NamedModule> parts = {
      {"embeddings", make<nn::Embedding>({vocabulary, width, in_bf16})}};
  for (int i = 0; i < 80; ++i) parts.emplace_back(fmt::format("layers_{}", i), make_block());
  parts.emplace_back("norm", make<nn::RMSNorm>({width, 1e-5, in_bf16}));
  parts.emplace_back("output", make<nn::Linear>({width, vocabulary, false, in_bf16}));
  nn::Sequential model(parts);
  init.reset();
  zero::Config config{.bf16 = {.enabled = true}, .zero_optimization = {.stage = 3}};
  config.train_micro_batch_size_per_gpu = 1;
  config.optimizer = zero::OptimizerConfig{.type = "AdamW"};
  zero::Engine engine = zero::initialize(model, config, world);
  Tensor tokens = zeros({1, length}, DType::int64), targets = zeros({length}, DType::int64);
  for (int step = 0; step < 2; ++step) {
    std::map<std::string, std::int64_t> counts;
    zero::ObserverScope observer([&](const zero::Event& event) {
      ++counts[event.name.empty() ? std::string(to_string(event.kind)) : std::string(event.name)];
    });
    engine.backward(cross_entropy(view(engine(tokens), {length, vocabulary}), targets));
    engine.step();
    if (rank.id() == 0) fmt::print("step {}\n", step);
    for (auto& [kind, count] : counts)
      if (rank.id() == 0) fmt::print("{:>7} {}\n", zero::pretty_count(count), kind);
  }
}

int main() {
  Outcome outcome = World({.ranks = 1024, .shapes_only = true, .fold = true}).run(train);
  fmt::print("{}\n", outcome);
  for (std::size_t i = 0; outcome.ok() && i < memory_category_count; ++i)
    fmt::print("  at most {} of {}\n", zero::pretty_bytes(outcome.figures[0].by_category[i].peak),
               to_string(MemoryCategory(i)));
  return outcome.ok() ? 0 : 1;
}
