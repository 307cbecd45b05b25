// How much gathered data does a forward under ZeRO stage 3 hold, in how many gathers?
#include <fmt/core.h>

#include <simmesh/simmesh.h>
#include <simmesh/zero/fetch/event.h>
#include <simmesh/zero/fetch/pretty.h>

using namespace simmesh;

nn::ModulePtr linear(std::int64_t in, std::int64_t out) {
  return std::make_shared<nn::Linear>(nn::Linear::Options{in, out});
}

nn::ModulePtr block() {
  auto norm = std::make_shared<nn::LayerNorm>(nn::LayerNorm::Options{64});
  auto act = std::make_shared<nn::Activation>(nn::ActivationKind::gelu);
  return std::make_shared<nn::Residual>(std::vector<nn::NamedModule>{
      {"norm", norm}, {"up", linear(64, 256)}, {"act", act}, {"down", linear(256, 64)}});
}

void measure(const std::string& words, const zero::ZeroOptimization& zero) {
  std::int64_t peak = 0, gathers = 0, bytes = 0;
  Outcome outcome = World({.ranks = 2}).run([&](Rank& rank) {
    auto embedding = std::make_shared<nn::Embedding>(nn::Embedding::Options{197, 64});
    std::vector<nn::NamedModule> parts = {{"embedding", embedding}};
    for (int i = 0; i < 6; ++i) parts.emplace_back(fmt::format("block{}", i), block());
    parts.emplace_back("head", linear(64, 197));
    nn::Sequential model(parts);
    for (const Tensor& parameter : model.parameters())
      if (rank.id() == 0) bytes += std::int64_t(parameter.bytes());
    zero::Config config{.zero_optimization = zero};
    config.optimizer = zero::OptimizerConfig{};
    config.train_micro_batch_size_per_gpu = 1;
    config.zero_optimization.stage = 3;
    config.zero_optimization.param_persistence_threshold = 0;
    config.zero_optimization.max_reuse_distance = 0;
    zero::Engine engine = zero::initialize(model, config, ProcessGroup::world());
    for (int iteration = 0; iteration < 3; ++iteration) {
      std::int64_t most = 0, count = 0;
      std::optional<zero::ObserverScope> observer(std::in_place, [&](const zero::Event& event) {
        count += event.kind == zero::EventKind::collective && event.name != "broadcast";
        most = std::max(most, rank.ledger().of(MemoryCategory::communication).current);
      });
      Tensor loss = sum(engine(zeros({1, 4}, DType::int64)));
      observer.reset();
      engine.backward(loss);
      engine.step();
      if (rank.id() == 0) std::tie(peak, gathers) = std::pair(most, count);
    }
  });
  fmt::print("| {} | {} | {} % | {} |\n", words, zero::pretty_count(peak), 100 * peak / bytes,
             gathers);
  if (!outcome.ok()) fmt::print("{}\n", report(outcome));
}

int main() {
  fmt::print("| setting | peak bytes | of the model | gathers |\n| --- | --- | --- | --- |\n");
  std::vector<std::pair<std::string, zero::ZeroOptimization>> settings = {
      {"bucket 0", {.prefetch_bucket_size = 0}},
      {"bucket 1", {.prefetch_bucket_size = 1}},
      {"sequential", {.allgather_sequential = true}},
      {"bucket 40,000, live 60,000",
       {.prefetch_bucket_size = 40'000, .max_live_parameters = 60'000}},
      {"the same, by all-reduce",
       {.prefetch_bucket_size = 40'000,
        .max_live_parameters = 60'000,
        .use_all_reduce_for_fetch_params = true}},
      {"bucket 40,000", {.prefetch_bucket_size = 40'000}},
      {"bucket 200,000", {.prefetch_bucket_size = 200'000}}};
  for (const auto& [words, zero] : settings) measure(words, zero);
}
