// When does ZeRO stage 3 fetch, prefetch and release each parameter? Prints a picture of one
// iteration as SVG: docs/pictures/zero3_schedule.svg.
#include <fmt/core.h>

#include <simmesh/simmesh.h>
#include <simmesh/zero/fetch/schedule_picture.h>

using namespace simmesh;

nn::ModulePtr linear(std::int64_t in, std::int64_t out, bool bias = true) {
  return std::make_shared<nn::Linear>(nn::Linear::Options{in, out, bias});
}

nn::ModulePtr block() {
  auto norm = std::make_shared<nn::RMSNorm>(nn::RMSNorm::Options{8});
  auto act = std::make_shared<nn::Activation>(nn::ActivationKind::relu);
  return std::make_shared<nn::Residual>(std::vector<nn::NamedModule>{
      {"norm", norm}, {"up", linear(8, 16)}, {"act", act}, {"down", linear(16, 8)}});
}

int main(int argc, char** argv) {
  World world(world_options_from(argc, argv, {.ranks = 2}));
  std::string picture;
  Outcome outcome = world.run([&](Rank& rank) {
    nn::Sequential model(
        {{"in", linear(4, 8)}, {"a", block()}, {"b", block()}, {"out", linear(8, 4, false)}});
    zero::Config config;
    config.optimizer = zero::OptimizerConfig{.type = "AdamW"};
    config.train_micro_batch_size_per_gpu = 2;
    config.zero_optimization = {.stage = 3,
                                .prefetch_bucket_size = 150,
                                .param_persistence_threshold = 8,
                                .max_live_parameters = 320,
                                .max_reuse_distance = 60};
    zero::ScheduleNames names;
    for (const auto& [name, module] : model.named_modules()) names.modules.push_back(name);
    for (const auto& [name, parameter] : model.named_parameters()) names.params.push_back(name);
    zero::Engine engine = zero::initialize(model, config, ProcessGroup::world());
    std::vector<zero::Event> events;
    for (int iteration = 0; iteration < 3; ++iteration) {
      events.clear();
      zero::ObserverScope observer([&](const zero::Event& event) { events.push_back(event); });
      engine.backward(sum(engine(formula({2, 4}, {.rule = Rule::unit, .seed = rank.id()}))));
      engine.step();
    }
    if (rank.id() == 0) picture = zero::schedule_svg(events, names);
  });
  fmt::print("{}", picture);
  return outcome.ok() ? 0 : 1;
}
