#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/neural/losses.h"
#include "core/optim/adam.h"
#include "fsdp/state/event_fields.h"
#include "sharding/api/dtensor_clip.h"
#include "tests/fsdp/sharded_worlds.h"

// A world of shapes only must cost each rank, and do, the same as the world with data.
namespace simmesh::fsdp {
namespace {

struct Training {
  Shape mesh;
  ReshardAfterForward reshard = {};
  bool is_mixed = false;
  bool is_checkpointed = false;
  bool offloads = false;
  std::int64_t micro_batches = 1;
  bool is_exact = false;
  std::string name = {};

  std::size_t ranks() const { return std::size_t(numel(mesh)); }
};

struct SeenTraining {
  Outcome outcome;
  std::vector<RankFigures> figures;
  std::vector<std::vector<std::string>> events;
  std::vector<std::array<std::uint32_t, Rank::counter_count>> collectives;
};

void train_model(nn::Module& model, const Training& training, std::int64_t width) {
  FullyShardOptions options{.reshard_after_forward = training.reshard};
  options.mesh = training.mesh.size() == 1
                     ? init_device_mesh(training.mesh)
                     : init_device_mesh(training.mesh, {"replicate", "shard"});
  if (training.is_mixed)
    options.mp_policy = {.param_dtype = DType::bfloat16, .reduce_dtype = DType::float32};
  if (training.offloads) options.offload_policy = CPUOffloadPolicy{};
  shard_layers(model, options);
  optim::AdamW optimizer(model.parameters());
  for (int step = 0; step < 2; ++step) {
    for (std::int64_t i = 1; i <= training.micro_batches; ++i) {
      FSDPModule(model).set_requires_all_reduce(i == training.micro_batches);
      Tensor x = formula({3, width}, {.rule = Rule::unit, .seed = 5});
      Tensor y = model(x);
      backward(mse_loss(y, zeros(y.shape(), y.dtype())));
    }
    std::vector<Tensor> parameters = model.parameters();
    if (!training.offloads) clip_grad_norm_(parameters, {});
    optimizer.step();
    optimizer.zero_grad();
  }
}

SeenTraining run_training(const Training& training, WorldOptions options) {
  options.ranks = training.ranks();
  if (training.is_exact) options.arithmetic = Arithmetic::exact();
  SeenTraining seen{.figures = std::vector<RankFigures>(options.ranks),
                    .events = std::vector<std::vector<std::string>>(options.ranks),
                    .collectives = decltype(SeenTraining::collectives)(options.ranks)};
  constexpr std::int64_t width = 5;
  TrainingModel described = small_model(2, width, training.is_checkpointed);
  seen.outcome = World(options).run([&](Rank& rank) {
    {
      nn::ModulePtr model = nn::build(described.node, {});
      ObserverScope observer([&](const Event& event) {
        seen.events[rank.id()].push_back(to_string(fields_of(event, *model)));
      });
      train_model(*model, training, width);
    }
    seen.figures[rank.id()] = RankFigures::of(rank);
    seen.collectives[rank.id()] = rank.counters();
  });
  return seen;
}

std::vector<Training> trainings() {
  std::vector<Training> all;
  for (const Shape& mesh : std::vector<Shape>{
           {1}, {2}, {3}, {4}, {8}, {1, 1}, {2, 1}, {1, 3}, {2, 2}, {2, 4}, {4, 2}}) {
    std::vector<ReshardAfterForward> modes = {{}, true, false};
    if (mesh.back() % 2 == 0) modes.emplace_back(2);
    for (std::size_t mode = 0; mode < modes.size(); ++mode) {
      for (bool is_mixed : {false, true}) {
        Training training{.mesh = mesh, .reshard = modes[mode], .is_mixed = is_mixed};
        training.is_checkpointed = mode == 1;
        training.offloads = mode == 2 && !is_mixed;
        training.micro_batches = mode == 0 ? 2 : 1;
        training.name = fmt::format("mesh {}, mode {}, {}", fmt::join(mesh, " x "), mode,
                                    is_mixed ? "mixed" : "one dtype");
        all.push_back(training);
      }
    }
  }
  return all;
}

void expect_same(const SeenTraining& shapes, const SeenTraining& full, RankId rank) {
  EXPECT_EQ(difference(shapes.figures[rank], full.figures[rank]), "");
  EXPECT_EQ(shapes.collectives[rank], full.collectives[rank]);
  EXPECT_EQ(shapes.events[rank], full.events[rank]);
  EXPECT_FALSE(shapes.events[rank].empty());
}

void expect_the_world_with_data(const Training& training) {
  SCOPED_TRACE(training.name);
  SeenTraining full = run_training(training, {});
  ASSERT_TRUE(full.outcome.ok()) << report(full.outcome);
  SeenTraining shapes = run_training(training, {.shapes_only = true});
  ASSERT_TRUE(shapes.outcome.ok()) << report(shapes.outcome);
  EXPECT_EQ(shapes.outcome.schedule_hash, full.outcome.schedule_hash);
  EXPECT_EQ(shapes.outcome.steps, full.outcome.steps);
  EXPECT_EQ(shapes.outcome.live_storages, 0);
  EXPECT_EQ(shapes.outcome.physical_peak_bytes, 0);
  for (RankId rank = 0; rank < training.ranks(); ++rank) expect_same(shapes, full, rank);
}

TEST(ShapesOnlyTraining, IsTheWorldWithDataInAllButTheData) {
  for (const Training& training : trainings()) expect_the_world_with_data(training);
}

// Sums that aren't rounded yet belong to no device: figures, calls and events are those of any
// arithmetic, with data and without.
TEST(ShapesOnlyTraining, HasTheFiguresOfCanonicalArithmeticInExactArithmetic) {
  for (Training training : trainings()) {
    SeenTraining canonical = run_training(training, {.shapes_only = true});
    training.is_exact = true;
    expect_the_world_with_data(training);
    SeenTraining exact = run_training(training, {.shapes_only = true});
    EXPECT_EQ(exact.outcome.schedule_hash, canonical.outcome.schedule_hash);
    for (RankId rank = 0; rank < training.ranks(); ++rank) expect_same(exact, canonical, rank);
  }
}

// Rows of an embedding are carried by index, which a world of shapes only can't read.
TEST(ShapesOnlyTraining, CarriesTheRowsOfAnEmbedding) {
  std::vector<RankFigures> figures;
  for (bool shapes_only : {false, true}) {
    World world({.arithmetic = Arithmetic::exact(), .shapes_only = shapes_only});
    Outcome outcome = world.run([&](Rank& rank) {
      Tensor weight = formula({7, 3}, {.rule = Rule::unit, .seed = 5});
      set_requires_grad(weight);
      Tensor indices = zeros({2, 4}, DType::int64);
      backward(mse_loss(embedding(weight, indices), zeros({2, 4, 3}, DType::float32)));
      expect(grad_of(weight).shape() == weight.shape(), "a gradient");
      figures.push_back(RankFigures::of(rank));
    });
    ASSERT_TRUE(outcome.ok()) << report(outcome);
  }
  EXPECT_EQ(difference(figures[1], figures[0]), "");
}

TEST(ShapesOnlyTraining, IsTheSameUnderEverySchedule) {
  Training training{.mesh = {2, 2}, .reshard = 2, .is_mixed = true, .micro_batches = 2};
  SeenTraining first = run_training(training, {.shapes_only = true});
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"}) {
    for (std::size_t threads : {1, 2}) {
      SeenTraining seen = run_training(
          training,
          {.schedule = Schedule::parse(schedule), .threads = threads, .shapes_only = true});
      ASSERT_TRUE(seen.outcome.ok()) << report(seen.outcome);
      for (RankId rank = 0; rank < training.ranks(); ++rank) expect_same(seen, first, rank);
    }
  }
}

// Virtual times, races and the model of the allocator depend on launches, not on results.
TEST(ShapesOnlyTraining, HasTheTimesOfTheWorldWithData) {
  Training training{.mesh = {2, 2}, .reshard = true, .is_mixed = true};
  SeenTraining full = run_training(training, {.device = DeviceModel{}});
  ASSERT_TRUE(full.outcome.ok()) << report(full.outcome);
  auto expect_times = [&](const DeviceReport& shapes, std::size_t rank) {
    const DeviceReport& expected = full.outcome.devices[rank];
    EXPECT_GT(shapes.makespan_us, 0);
    EXPECT_EQ(shapes.makespan_us, expected.makespan_us);
    EXPECT_EQ(shapes.exposed_communication_us, expected.exposed_communication_us);
    EXPECT_TRUE(shapes.memory.reserved == expected.memory.reserved);
    EXPECT_TRUE(shapes.memory.active == expected.memory.active);
    EXPECT_TRUE(shapes.is_complete);
    ASSERT_EQ(shapes.streams.size(), expected.streams.size());
    for (std::size_t i = 0; i < shapes.streams.size(); ++i) {
      SCOPED_TRACE(shapes.streams[i].name);
      EXPECT_EQ(shapes.streams[i].busy_us, expected.streams[i].busy_us);
      EXPECT_EQ(shapes.streams[i].operations, expected.streams[i].operations);
    }
  };
  SeenTraining shapes = run_training(training, {.device = DeviceModel{}, .shapes_only = true});
  ASSERT_TRUE(shapes.outcome.ok()) << report(shapes.outcome);
  for (std::size_t i = 0; i < 4; ++i) expect_times(shapes.outcome.devices[i], i);
  SeenTraining folded =
      run_training(training, {.device = DeviceModel{}, .shapes_only = true, .fold = true});
  ASSERT_TRUE(folded.outcome.ok()) << report(folded.outcome);
  // Shards are uneven: nobody waits for a slower rank that isn't run.
  ASSERT_EQ(folded.outcome.devices.size(), 2u);
  for (const DeviceReport& device : folded.outcome.devices) {
    EXPECT_TRUE(device.is_complete);
    EXPECT_GT(device.makespan_us, 0);
    EXPECT_LE(device.makespan_us, full.outcome.devices[0].makespan_us);
  }
}

TEST(ShapesOnlyTraining, FoldedRanksDoWhatTheyDoAmongAll) {
  for (const Training& training : trainings()) {
    if (training.is_mixed || training.ranks() > 4) continue;
    SCOPED_TRACE(training.name);
    SeenTraining whole = run_training(training, {.shapes_only = true});
    for (RankId only = 0; only < training.ranks(); ++only) {
      SeenTraining folded =
          run_training(training, {.shapes_only = true, .fold = true, .folded_onto = {only}});
      ASSERT_TRUE(folded.outcome.ok()) << report(folded.outcome);
      expect_same(folded, whole, only);
    }
    SeenTraining ends = run_training(training, {.shapes_only = true, .fold = true});
    ASSERT_TRUE(ends.outcome.ok()) << report(ends.outcome);
    expect_same(ends, whole, 0);
    expect_same(ends, whole, RankId(training.ranks() - 1));
  }
}

}  // namespace
}  // namespace simmesh::fsdp
