// What does a training step of Llama-3 405B on 16,384 ranks cost per rank: events, collectives,
// memory?
#include <fmt/core.h>
#include <map>

#include <simmesh/core/autograd/backward.h>
#include <simmesh/core/nn/attention.h>
#include <simmesh/core/nn/block.h>
#include <simmesh/core/nn/containers.h>
#include <simmesh/core/nn/embedding.h>
#include <simmesh/core/nn/gated_mlp.h>
#include <simmesh/core/nn/linear.h>
#include <simmesh/core/nn/normalization.h>
#include <simmesh/core/ops/neural/losses.h>
#include <simmesh/core/optim/adam.h>
#include <simmesh/fsdp/param/event.h>
#include <simmesh/simmesh.h>

using namespace simmesh;

constexpr std::int64_t width = 16384, vocabulary = 128256, length = 8192;
const nn::ParameterOptions on_meta = {.device = nn::Device::meta};

template <class Module>
nn::ModulePtr make(const typename Module::Options& options) {
  return std::make_shared<Module>(options);
}

nn::ModulePtr make_block() {
  nn::Attention::Options attention{.width = width, .heads = 128, .causal = true};
  attention.parameters = on_meta;
  attention.kv_heads = 8;
  attention.rotary_theta = 500000.0;
  attention.flash = true;
  nn::ModulePtr norms[] = {make<nn::RMSNorm>({width, 1e-5, on_meta}),
                           make<nn::RMSNorm>({width, 1e-5, on_meta})};
  auto mlp = make<nn::GatedMlp>({.width = width, .hidden = 53248, .parameters = on_meta});
  auto block = std::make_shared<nn::Block>(
      nn::Block::Children{norms[0], make<nn::Attention>(attention), norms[1], mlp});
  block->set_checkpointing(CheckpointOptions{});
  return block;
}

void train(Rank& rank) {
  std::vector<nn::NamedModule> parts = {
      {"tok_embeddings", make<nn::Embedding>({vocabulary, width, on_meta})}};
  for (int i = 0; i < 126; ++i) parts.emplace_back(fmt::format("layers_{}", i), make_block());
  parts.emplace_back("norm", make<nn::RMSNorm>({width, 1e-5, on_meta}));
  parts.emplace_back("output", make<nn::Linear>({width, vocabulary, false, on_meta}));
  nn::Sequential model(parts);
  fsdp::FullyShardOptions options{.mesh = init_device_mesh({128, 128}, {"replicate", "shard"})};
  options.mp_policy = {.param_dtype = DType::bfloat16, .reduce_dtype = DType::float32};
  for (int i = 0; i <= 126; ++i) fsdp::fully_shard(*parts[i].second, options);
  fsdp::fully_shard({&model.child("norm"), &model.child("output")}, options);
  fsdp::fully_shard(model, options);
  fsdp::to_empty(model);
  optim::AdamW optimizer(model.parameters());
  std::map<std::string, std::int64_t> counts, bytes;
  fsdp::ObserverScope observer([&](const fsdp::Event& event) {
    std::string kind(to_string(event.kind));
    if (event.group_size > 0) kind += fmt::format(" over {} ranks", event.group_size);
    ++counts[kind];
    if (event.group_size > 0) bytes[kind] += std::int64_t(event.input.bytes());
  });
  Tensor tokens = zeros({1, length}, DType::int64), targets = zeros({length}, DType::int64);
  backward(cross_entropy(view(model(tokens), {length, vocabulary}), targets));
  optimizer.step();
  for (auto& [kind, count] : counts)
    if (rank.id() == 0) fmt::print("{:>5} {}, {} bytes in\n", count, kind, bytes[kind]);
}

int main() {
  World world({.ranks = 16384, .shapes_only = true, .fold = true});
  Outcome outcome = world.run(train);
  fmt::print("{}\n", outcome);
  for (std::size_t i = 0; outcome.ok() && i < memory_category_count; ++i)
    fmt::print("  at most {:>11} of {}\n", outcome.figures[0].by_category[i].peak,
               to_string(MemoryCategory(i)));
  return outcome.ok() ? 0 : 1;
}
