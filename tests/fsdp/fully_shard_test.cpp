#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/engine/random_stream.h"
#include "core/ops/reductions/reductions.h"
#include "fsdp/event_fields.h"
#include "tests/fsdp/sharded_worlds.h"
#include "training/sharded_training.h"

namespace simmesh::fsdp {
namespace {

// A draw of a swarm: how a model is cut and trained.
struct Draw {
  FsdpPlan plan;
  TrainingTask task;
  SyncMode sync;
  bool on_devices;
  std::string text;
};

MeshPlan drawn_mesh(std::int64_t world, RandomStream& random) {
  std::vector<Shape> shapes = {{world}};
  for (std::int64_t replicas = 1; replicas <= world; ++replicas)
    if (world % replicas == 0) shapes.push_back({replicas, world / replicas});
  Shape shape = shapes[random.below(shapes.size())];
  MeshPlan mesh{shape, {}, {}};
  if (shape.size() == 2) mesh.names = {"replicate", "shard"};
  return mesh;
}

PlainValue reshard_of(const MeshPlan& mesh, RandomStream& random) {
  std::int64_t shards = mesh.shape.back();
  switch (random.below(4)) {
    case 0: return {};
    case 1: return true;
    case 2: return false;
    default: {
      std::vector<std::int64_t> factors;
      for (std::int64_t n = 1; n <= shards; ++n)
        if (shards % n == 0) factors.push_back(n);
      return factors[random.below(factors.size())];
    }
  }
}

Draw draw(std::uint64_t seed) {
  RandomStream random(seed, 0);
  Draw result;
  std::int64_t world = 1 + std::int64_t(random.below(8));
  std::int64_t layers = 1 + std::int64_t(random.below(3));
  result.plan.world = world;
  result.plan.mesh = drawn_mesh(world, random);
  result.plan.model = small_model(layers, 1 + std::int64_t(random.below(6)), random.below(2) == 1);
  for (std::int64_t i = 0; i < layers; ++i)
    if (random.below(4) > 0)
      result.plan.wraps.push_back({.modules = {"layers." + std::to_string(i)},
                                   .reshard_after_forward = reshard_of(*result.plan.mesh, random)});
  result.plan.wraps.push_back(
      {.modules = {""}, .reshard_after_forward = reshard_of(*result.plan.mesh, random)});
  result.plan.offload = random.below(3) == 0;
  result.sync = SyncMode(random.below(3));
  result.on_devices = seed % 2 == 0;
  TrainingTask& task = result.task;
  task.model = result.plan.model;
  task.steps = 2;
  task.micro_batches = 1 + std::int64_t(random.below(3));
  task.optimizer = random.below(2) == 0
                       ? OptimizerSpec(optim::SgdOptions{.lr = 0.0078125, .momentum = 0.5})
                       : OptimizerSpec(AdamSpec{{.lr = 0.01}});
  std::int64_t rows = 2 * world, width = task.model.parameters[0].shape[1];
  task.terms = double(rows) * 3.0 * double(task.micro_batches);
  task.batch = [rows, width](std::int64_t step, std::int64_t micro) {
    std::uint64_t at = std::uint64_t(100 * step + micro);
    return Batch{formula({rows, width}, {.rule = Rule::unit, .seed = 5 + at}),
                 formula({rows, 3}, {.rule = Rule::unit, .seed = 1000 + at})};
  };
  result.text =
      fmt::format("seed {}: world {}, mesh {}, {} layers, {} micro-batches", seed, world,
                  to_string(DimSpan(result.plan.mesh->shape)), layers, task.micro_batches);
  return result;
}

void expect_equal(const std::vector<nn::NamedTensor>& whole,
                  const std::vector<nn::NamedTensor>& sharded, const std::string& what) {
  expect(whole.size() == sharded.size(), what + ": as many tensors");
  for (std::size_t i = 0; i < whole.size(); ++i)
    expect(same_bits(whole[i].second, sharded[i].second), what + ": bits of " + whole[i].first);
}

void expect_bits_of_one_device(const Draw& draw) {
  TrainingResult whole;
  World one({.arithmetic = Arithmetic::exact()});
  Outcome alone = one.run([&](Rank&) { whole = train(draw.task); });
  ASSERT_TRUE(alone.ok()) << draw.text << ": " << report(alone);
  WorldOptions options{.ranks = std::size_t(draw.plan.world), .arithmetic = Arithmetic::exact()};
  // Streams that race would fail the run.
  if (draw.on_devices) options.device = DeviceModel{};
  World world(options);
  Outcome outcome = world.run([&](Rank&) {
    ShardedTraining training(draw.plan, {.sync = draw.sync});
    TrainingResult sharded = train(draw.task, training.form());
    for (std::size_t step = 0; step < whole.losses.size(); ++step) {
      expect(same_bits(whole.losses[step], sharded.losses[step]), "bits of a loss");
      expect(same_bits(whole.norms[step], sharded.norms[step]), "bits of a norm");
      expect_equal(whole.gradients[step], sharded.gradients[step], "gradients");
    }
    expect_equal(whole.parameters, sharded.parameters, "parameters");
    expect_equal(whole.optimizer_state, sharded.optimizer_state, "optimiser state");
  });
  EXPECT_TRUE(outcome.ok()) << draw.text << ": "
                            << (outcome.failure ? outcome.failure->message : "");
}

// A sharded run in exact arithmetic has the bits of one device, however it is cut: gradients that
// were rounded on a rank, added in another order or counted twice would show.
TEST(FullyShard, HasTheBitsOfOneDeviceInExactArithmetic) {
#if defined(SIMMESH_ASAN) || defined(SIMMESH_TSAN)
  constexpr std::uint64_t draws = 100;  // each takes ten times as long
#else
  constexpr std::uint64_t draws = 1000;
#endif
  for (std::uint64_t seed = 1; seed <= draws && !HasFailure(); ++seed)
    expect_bits_of_one_device(draw(seed));
}

// The schedule changes nothing: neither bits nor events.
TEST(FullyShard, GivesTheSameEventsAndGradientsUnderAllSchedules) {
  TrainingModel plan = small_model(2, 5);
  std::vector<EventFields> first;
  std::vector<Tensor> gradients;
  every_schedule(4, [&](Rank& rank) {
    nn::ModulePtr model = build_model(plan);
    shard_layers(*model, {.reshard_after_forward = true});
    std::vector<EventFields> events;
    ObserverScope observer([&](const Event& event) { events.push_back(fields_of(event, *model)); });
    Tensor x = formula({3, 5}, {.rule = Rule::unit, .seed = rank.id()});
    backward(sum((*model)(x)));
    if (rank.id() != 0) return;
    if (first.empty()) first = events;
    expect(events == first, "the events of the first schedule");
    for (std::size_t i = 0; i < model->parameters().size(); ++i) {
      Tensor gradient = grad_of(model->parameters()[i]).local_part();
      if (gradients.size() == i) gradients.push_back(gradient.clone());
      expect(same_bits(gradients[i], gradient), "the gradients of the first schedule");
    }
  });
}

}  // namespace
}  // namespace simmesh::fsdp
