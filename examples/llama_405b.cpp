// What does one training step of Llama-3 405B cost a rank of 16,384: how many events and
// collectives, and how much memory?
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
#include <simmesh/core/ops/losses.h>
#include <simmesh/core/ops/views.h>
#include <simmesh/core/optim/adam.h>
#include <simmesh/fsdp/fully_shard.h>
#include <simmesh/fsdp/state_dict.h>
#include <simmesh/simmesh.h>

using namespace simmesh;

constexpr std::int64_t layers = 126, width = 16384, heads = 128, kv_heads = 8, hidden = 53248,
                       vocabulary = 128256, length = 8192;
const nn::ParameterOptions on_meta = {.device = nn::Device::meta};

nn::ModulePtr norm() {
  return std::make_shared<nn::RMSNorm>(nn::RMSNorm::Options{width, 1e-5, on_meta});
}

nn::ModulePtr block() {
  auto attention = std::make_shared<nn::Attention>(nn::Attention::Options{.width = width,
                                                                          .heads = heads,
                                                                          .causal = true,
                                                                          .parameters = on_meta,
                                                                          .kv_heads = kv_heads,
                                                                          .rotary_theta = 500000.0,
                                                                          .flash = true});
  auto mlp = std::make_shared<nn::GatedMlp>(
      nn::GatedMlp::Options{.width = width, .hidden = hidden, .parameters = on_meta});
  auto made = std::make_shared<nn::Block>(nn::Block::Children{norm(), attention, norm(), mlp});
  made->set_checkpointing(CheckpointOptions{});
  return made;
}

nn::ModulePtr llama() {
  std::vector<nn::NamedModule> blocks;
  for (int i = 0; i < layers; ++i) blocks.emplace_back(std::to_string(i), block());
  auto embedding = nn::Embedding::Options{vocabulary, width, on_meta};
  auto output = nn::Linear::Options{width, vocabulary, false, on_meta};
  return std::make_shared<nn::Sequential>(
      std::vector<nn::NamedModule>{{"tok_embeddings", std::make_shared<nn::Embedding>(embedding)},
                                   {"layers", std::make_shared<nn::Sequential>(blocks)},
                                   {"norm", norm()},
                                   {"output", std::make_shared<nn::Linear>(output)}});
}

struct Sums {
  std::int64_t calls = 0;
  double bytes = 0;
};

void train(Rank& rank) {
  nn::ModulePtr model = llama();
  fsdp::FullyShardOptions options{
      .mesh = init_device_mesh({128, 128}, {"replicate", "shard"}),
      .mp_policy = {.param_dtype = DType::bfloat16, .reduce_dtype = DType::float32}};
  fsdp::fully_shard(model->child("tok_embeddings"), options);
  for (auto& [name, layer] : model->child("layers").children()) fsdp::fully_shard(*layer, options);
  fsdp::fully_shard({&model->child("norm"), &model->child("output")}, options);
  fsdp::fully_shard(*model, options);
  fsdp::to_empty(*model);
  optim::AdamW optimizer(model->parameters());

  std::map<std::string, std::int64_t> events;
  std::map<std::string, Sums> collectives;
  fsdp::ObserverScope observer([&](const fsdp::Event& event) {
    ++events[std::string(to_string(event.kind))];
    if (event.group_size == 0) return;
    Sums& sums =
        collectives[fmt::format("{} over {} ranks", to_string(event.kind), event.group_size)];
    ++sums.calls;
    sums.bytes += double(event.input.bytes());
  });
  Tensor tokens = zeros({1, length}, DType::int64), targets = zeros({length}, DType::int64);
  Tensor logits = (*model)(tokens);
  backward(cross_entropy(view(logits, {length, vocabulary}), targets));
  optimizer.step();
  if (rank.id() != 0) return;
  for (auto& [kind, count] : events) fmt::print("{:>6} {}\n", count, kind);
  for (auto& [kind, sums] : collectives)
    fmt::print("{:>6} {}, {:.3f} GB in\n", sums.calls, kind, sums.bytes / 1e9);
}

int main() {
  World world({.ranks = 16384, .stack_bytes = 1 << 20, .shapes_only = true, .fold = true});
  Outcome outcome = world.run(train);
  fmt::print("{}\n", outcome);
  for (std::size_t i = 0; outcome.ok() && i < memory_category_count; ++i)
    fmt::print("  {:<15} at most {:>15} bytes\n", to_string(MemoryCategory(i)),
               outcome.figures[0].by_category[i].peak);
  return outcome.ok() ? 0 : 1;
}
