#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "core/engine/run/followed_release.h"
#include "core/engine/schedules/random_stream.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "tests/fsdp/sharded_worlds.h"
#include "training/sharded_training.h"

// A sharded run in exact arithmetic has the bits of one device, or, where those are mixed, of one
// rank: whatever model, mesh, reshard mode, precision, number of micro-batches, schedule and
// release.
namespace simmesh::fsdp {
namespace {

enum class ScheduleKind : std::uint8_t { fifo, seeded, pct, replayed };

// A draw of the swarm: a model, and how it is cut and trained.
struct Draw {
  FsdpPlan plan;
  TrainingTask task;
  SyncMode sync = SyncMode::every;
  // Settings that only the newest release has; drawn for one in two, and left out under others.
  ShardedSettings newest;
  bool on_devices = false;
  bool is_mixed = false;
  bool has_experts = false;
  ScheduleKind schedule = ScheduleKind::fifo;
  std::size_t threads = 1;
  std::uint64_t seed = 0;
  std::string text;

  // One device has other gradients than a sharded rank: not the dtypes of a policy, and none where
  // a token chose no expert.
  bool is_compared_with_one_rank() const {
    return is_mixed || has_experts || newest.grad_dtype.is_set();
  }
  ShardedSettings settings(Release release) const {
    ShardedSettings result = release == newest_release ? newest : ShardedSettings();
    result.sync = sync;
    result.reduces_unused_params = has_experts;
    return result;
  }
};

bool with_probability_1_in(std::size_t n, RandomStream& random) { return random.below(n) == 0; }

MeshPlan drawn_mesh(std::int64_t world, RandomStream& random) {
  std::vector<Shape> shapes = {{world}};
  for (std::int64_t replicas = 1; replicas <= world; ++replicas)
    if (world % replicas == 0) shapes.push_back({replicas, world / replicas});
  Shape shape = shapes[random.below(shapes.size())];
  MeshPlan mesh{shape, {}, {}};
  if (shape.size() == 2) mesh.names = {"replicate", "shard"};
  return mesh;
}

PlainValue drawn_reshard(const MeshPlan& mesh, RandomStream& random) {
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

fsdp::MixedPrecisionPolicy drawn_precision(RandomStream& random) {
  constexpr std::optional<DType> none;
  const std::optional<DType> params[] = {DType::bfloat16, DType::float16, none};
  const std::optional<DType> reduced[] = {none, DType::float32, DType::bfloat16};
  fsdp::MixedPrecisionPolicy policy;
  policy.param_dtype = params[random.below(3)];
  policy.reduce_dtype = reduced[random.below(3)];
  return policy;
}

// Zeros of any dtype are refused, and so are partial sums at a manual end.
ShardedSettings drawn_newest(const Draw& draw, RandomStream& random) {
  const GradDtype policies[] = {{}, DType::bfloat16, DType::float64, GradDtype::any()};
  ShardedSettings settings;
  settings.keeps_unsharded_storage = with_probability_1_in(2, random);
  settings.grad_dtype = policies[random.below(draw.has_experts ? 3 : 4)];
  if (draw.sync != SyncMode::all_reduce_last) settings.backward_end = BackwardEnd(random.below(3));
  return settings;
}

// The first layer becomes a mixture of experts, some of which may have no token.
TrainingModel with_experts(TrainingModel model, std::int64_t width, std::int64_t experts) {
  nn::ModelNode& layer = model.node.children[1].children[0];
  layer.children = {{"moe",
                     "moe",
                     {{"dim", width}, {"hidden", width + 1}, {"experts", experts}, {"top_k", 1L}},
                     {}}};
  return model_of(model.node);
}

// The weights on the way into two layers are one parameter.
void tie_layers(TrainingModel& model) {
  const std::string owner = "layers.0.up.weight", other = "layers.1.up.weight";
  model.tied = {{other, owner}};
  std::erase_if(model.parameters, [&](const ParameterData& data) { return data.name == other; });
}

// All but the last layer, without which there is nothing to train.
void freeze_some(TrainingModel& model, RandomStream& random) {
  for (const ParameterData& parameter : model.parameters)
    if (!parameter.name.starts_with("out.") && with_probability_1_in(3, random))
      model.frozen.push_back(parameter.name);
}

// Each layer is a group of its own, or part of the root's; layers that share a weight are one
// group.
std::vector<WrapPlan> drawn_wraps(const Draw& draw, std::int64_t layers, RandomStream& random) {
  std::vector<WrapPlan> wraps;
  std::int64_t first = 0;
  auto wrap = [&](std::vector<std::string> modules) {
    wraps.push_back({.modules = std::move(modules),
                     .reshard_after_forward = drawn_reshard(*draw.plan.mesh, random)});
  };
  if (!draw.plan.model.tied.empty()) {
    if (random.below(2) == 0) wrap({"layers.0", "layers.1"});
    first = 2;
  }
  for (std::int64_t i = first; i < layers; ++i)
    if (!with_probability_1_in(4, random)) wrap({"layers." + std::to_string(i)});
  wrap({""});
  if (draw.is_mixed) {
    fsdp::MixedPrecisionPolicy policy = drawn_precision(random);
    for (WrapPlan& each : wraps) each.mp_policy = policy;
    wraps.back().mp_policy.output_dtype = DType::float32;  // the dtype of the loss's input
  }
  return wraps;
}

TrainingTask drawn_task(const TrainingModel& model, std::int64_t world, RandomStream& random) {
  TrainingTask task;
  task.model = model;
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
  return task;
}

Draw draw(std::uint64_t seed) {
  RandomStream random(seed, 0);
  Draw result;
  result.seed = seed;
  std::int64_t world = 1 + std::int64_t(random.below(8));
  std::int64_t layers = 1 + std::int64_t(random.below(3)),
               width = 1 + std::int64_t(random.below(6));
  FsdpPlan& plan = result.plan;
  plan.world = world;
  plan.mesh = drawn_mesh(world, random);
  plan.model = small_model(layers, width, random.below(2) == 1);
  result.has_experts = with_probability_1_in(4, random);
  if (result.has_experts)
    plan.model = with_experts(plan.model, width, 1 + std::int64_t(random.below(4)));
  if (!result.has_experts && layers > 1 && with_probability_1_in(4, random)) tie_layers(plan.model);
  if (with_probability_1_in(3, random)) freeze_some(plan.model, random);
  result.is_mixed = with_probability_1_in(3, random);
  plan.wraps = drawn_wraps(result, layers, random);
  plan.offload = with_probability_1_in(3, random);
  result.sync = SyncMode(random.below(3));
  if (with_probability_1_in(2, random)) result.newest = drawn_newest(result, random);
  result.on_devices = seed % 2 == 0;
  result.task = drawn_task(plan.model, world, random);
  result.schedule = ScheduleKind(random.below(4));
  result.threads = 1 + random.below(2);
  result.text =
      fmt::format("seed {}: world {}, mesh {}, {} layers, {} micro-batches, {} tied, {} frozen{}{}",
                  seed, world, to_string(DimSpan(plan.mesh->shape)), layers,
                  result.task.micro_batches, plan.model.tied.size(), plan.model.frozen.size(),
                  result.is_mixed ? ", mixed" : "", result.has_experts ? ", experts" : "");
  return result;
}

void expect_equal(const std::vector<nn::NamedTensor>& expected,
                  const std::vector<nn::NamedTensor>& actual, const std::string& what) {
  expect(expected.size() == actual.size(), what + ": as many tensors");
  for (std::size_t i = 0; i < expected.size(); ++i)
    expect(same_bits(expected[i].second, actual[i].second),
           what + ": bits of " + expected[i].first);
}

void expect_equal(const TrainingResult& expected, const TrainingResult& actual) {
  for (std::size_t step = 0; step < expected.losses.size(); ++step) {
    expect(same_bits(expected.losses[step], actual.losses[step]), "bits of a loss");
    expect(same_bits(expected.norms[step], actual.norms[step]), "bits of a norm");
    expect_equal(expected.gradients[step], actual.gradients[step], "gradients");
  }
  expect_equal(expected.parameters, actual.parameters, "parameters");
  expect_equal(expected.optimizer_state, actual.optimizer_state, "optimiser state");
}

// Optimisers take gradients of the parameters' dtype. Widening keeps the rounded values.
void widen_gradients(nn::Module& model) {
  NoGrad mode;
  for (Tensor& parameter : model.parameters()) {
    Tensor gradient = grad_of(parameter);
    if (!gradient.is_defined() || gradient.dtype() == parameter.dtype()) continue;
    set_grad(parameter, Tensor());
    set_grad_dtype(parameter, GradDtype::any());
    set_grad(parameter, simmesh::to(gradient, parameter.dtype()));
  }
}

TrainingResult train_sharded(const Draw& draw, const FsdpPlan& plan) {
  ShardedTraining training(plan, draw.settings(followed_release()));
  ParallelForm form;
  form.after_backward = widen_gradients;
  return train(draw.task, training.form(form));
}

// The same calls on one rank, where a number of ranks to reshard over has no meaning.
FsdpPlan on_one_rank(FsdpPlan plan) {
  plan.world = 1;
  plan.mesh = MeshPlan{{1}, {}, {}};
  for (WrapPlan& wrap : plan.wraps) wrap.reshard_after_forward = {};
  return plan;
}

Schedule first_schedule(const Draw& draw) {
  if (draw.schedule == ScheduleKind::fifo) return Schedule::fifo();
  if (draw.schedule == ScheduleKind::pct) return Schedule::pct({.depth = 3});
  return Schedule::seeded(draw.seed);
}

struct ReleasedRun {
  Release release;
  TrainingResult expected;
};

Outcome run_draw(const Draw& draw, const Schedule& schedule, const ReleasedRun& run) {
  WorldOptions options{.ranks = std::size_t(draw.plan.world),
                       .schedule = schedule,
                       .threads = draw.schedule == ScheduleKind::replayed ? 1 : draw.threads,
                       .arithmetic = Arithmetic::exact(),
                       .release = run.release};
  options.record_choices = draw.schedule == ScheduleKind::replayed;
  // Streams that race would fail the run.
  if (draw.on_devices) options.device = DeviceModel{};
  Outcome outcome = World(options).run(
      [&](Rank&) { expect_equal(run.expected, train_sharded(draw, draw.plan)); });
  EXPECT_TRUE(outcome.ok()) << draw.text << ": "
                            << (outcome.failure ? outcome.failure->message : "");
  EXPECT_EQ(outcome.live_storages, 0) << draw.text;
  return outcome;
}

void expect_bits(const Draw& draw, Release release) {
  ReleasedRun run{release, {}};
  WorldOptions one_rank{.arithmetic = Arithmetic::exact(), .release = release};
  Outcome alone = World(one_rank).run([&](Rank&) {
    run.expected = draw.is_compared_with_one_rank() ? train_sharded(draw, on_one_rank(draw.plan))
                                                    : train(draw.task);
  });
  ASSERT_TRUE(alone.ok()) << draw.text << ": " << report(alone);
  Outcome outcome = run_draw(draw, first_schedule(draw), run);
  if (draw.schedule == ScheduleKind::replayed && outcome.ok())
    run_draw(draw, Schedule::replay(choices_to_string(outcome.choices)), run);
}

// Gradients that were rounded on a rank, added in another order or counted twice would show, and so
// would a schedule that changes anything.
TEST(Swarm, HasTheBitsOfOneDeviceInExactArithmetic) {
#if defined(SIMMESH_ASAN) || defined(SIMMESH_TSAN)
  constexpr std::uint64_t draws = 100;  // each takes ten times as long
#else
  constexpr std::uint64_t draws = 1000;
#endif
  std::size_t mixed = 0, experts = 0, tied = 0, frozen = 0, newest = 0;
  for (std::uint64_t seed = 1; seed <= draws && !HasFailure(); ++seed) {
    Draw drawn = draw(seed);
    mixed += drawn.is_mixed;
    experts += drawn.has_experts;
    tied += !drawn.plan.model.tied.empty();
    frozen += !drawn.plan.model.frozen.empty();
    newest += drawn.newest.grad_dtype.is_set() && drawn.newest.keeps_unsharded_storage &&
              drawn.newest.backward_end != BackwardEnd::automatic;
    for (Release release : releases) expect_bits(drawn, release);
  }
  for (std::size_t count : {mixed, experts, tied, frozen, newest}) EXPECT_GE(count, draws / 20);
}

}  // namespace
}  // namespace simmesh::fsdp
