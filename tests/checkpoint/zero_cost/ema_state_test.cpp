#include "checkpoint/zero_cost/ema_state.h"

#include <gmock/gmock.h>

#include "checkpoint/save_load/load.h"
#include "checkpoint/zero_cost/zero_cost_saver.h"
#include "tests/checkpoint/background_worlds.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/checkpoint/worlds.h"
#include "tests/checkpoint/zero_cost/small_training.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::background_schedules;
using ::testing::HasSubstr;
using testing::run_background;
using testing::run_world;
using testing::sample_state;
using testing::sample_tensors;
using testing::sample_whole;
using testing::SmallForm;
using testing::SmallTraining;

using Start = MovingAverage::Start;

// Returns the whole averages of a checkpoint by name, and "ema.updates".
struct SavedAverages {
  std::map<std::string, std::vector<float>> values;
  std::int64_t updates = 0;

  bool operator==(const SavedAverages&) const = default;
};

SavedAverages saved_averages(const Location& location, const std::map<std::string, Shape>& shapes) {
  SavedAverages saved;
  run_world(1, [&] {
    StateDict state;
    for (const auto& [name, shape] : shapes) state.add(name, zeros(shape, DType::float32));
    state.add("ema.updates", 0);
    load(state, location, {.allow_unexpected = true});
    for (const auto& [name, shape] : shapes) {
      const Tensor& tensor = std::get<Tensor>(*state.find(name));
      auto values = tensor.values<float>();
      saved.values[name] = {values.begin(), values.end()};
    }
    saved.updates = state.number("ema.updates");
  });
  return saved;
}

// Returns the averages of whole tensors, one update after another.
void add_serially(SavedAverages& averages, const std::string& name, const Tensor& values,
                  const EmaOptions& options) {
  auto elements = values.values<float>();
  std::vector<float>& average = averages.values[name];
  bool is_first = average.empty();
  average.resize(elements.size());
  MovingAverage one(elements.size(), {.coefficient = options.decay, .start = options.start});
  if (!is_first) one.restore(average);
  one.update({elements.data(), elements.size()});
  average.assign(one.values().begin(), one.values().end());
}

const std::map<std::string, Shape>& sample_shapes() {
  static const std::map<std::string, Shape> shapes = {
      {"ema.weight", {5, 3}}, {"ema.none", {0, 3}}, {"ema.scalar", {}}};
  return shapes;
}

SavedAverages serial_samples(std::uint64_t rounds, const EmaOptions& options) {
  SavedAverages averages;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    for (const auto& [name, shape] : sample_shapes())
      add_serially(averages, name, sample_whole(shape, DType::float32, round), options);
    ++averages.updates;
  }
  return averages;
}

// Averages rounds of sample values, from the averages of another run on, and saves the result.
struct SampleRun {
  std::uint64_t first = 1, last = 1;
  Location save_to;
  std::optional<Location> load_from = {};
};

void run_samples(const WorldOptions& options, const Placement& placement, const EmaOptions& ema,
                 const SampleRun& run) {
  run_background(options, [&] {
    DeviceMesh mesh = init_device_mesh({std::int64_t(options.ranks)});
    ZeroCostSaver saver({.ema = ema});
    if (run.load_from) {
      StateDict state = sample_state(mesh, sample_tensors(placement), 0);
      saver.add_averages(state);
      load(state, *run.load_from);
    }
    for (std::uint64_t round = run.first; round <= run.last; ++round) {
      ZeroCostSaver::Step step = {.number = std::int64_t(round)};
      if (round == run.last) step.save_to = run.save_to;
      saver.after_step([&] { return sample_state(mesh, sample_tensors(placement), round); }, step);
      saver.at_hook();
      saver.before_step();
    }
    saver.finish();
  });
}

// Averages on two ranks, and then on three with other parts, are those of one device that never
// stopped.
TEST(EmaState, GoesOnInAnotherLayout) {
  for (Start start : {Start::zeros, Start::first_value}) {
    EmaOptions ema = {.decay = 0.9, .start = start};
    for (const WorldOptions& options : background_schedules(2)) {
      auto store = std::make_shared<MemoryStore>();
      Location half = {store, "half"};
      run_samples(options, Shard(0), ema, {.first = 1, .last = 3, .save_to = half});
      EXPECT_EQ(saved_averages(half, sample_shapes()), serial_samples(3, ema));
      WorldOptions others = options;
      others.ranks = 3;
      for (const Placement& placement : {Placement(Shard(0)), Placement(Replicate())}) {
        auto other = std::make_shared<MemoryStore>();
        run_samples(others, placement, ema,
                    {.first = 4, .last = 5, .save_to = {other, "end"}, .load_from = half});
        EXPECT_EQ(saved_averages({other, "end"}, sample_shapes()), serial_samples(5, ema));
      }
    }
  }
}

// Every form of training keeps the averages of one device, also in steps without a save and with
// one micro-batch.
TEST(EmaState, HasTheBitsOfASerialAverage) {
  const std::map<std::string, Shape> shapes = {{"ema.fc1.weight", {5, 3}},
                                               {"ema.fc1.bias", {5}},
                                               {"ema.fc2.weight", {2, 5}},
                                               {"ema.fc2.bias", {2}}};
  EmaOptions ema = {.decay = 0.75, .interval = 2};
  for (SmallForm form :
       {SmallForm::replicated, SmallForm::sharded, SmallForm::zero1, SmallForm::zero3})
    for (std::int64_t micro : {1, 2})
      for (const WorldOptions& options : background_schedules(3)) {
        auto store = std::make_shared<MemoryStore>();
        run_background(options, [&] {
          SmallTraining training(form, micro);
          ZeroCostSaver saver({.hook_capacity = 6, .ema = ema});
          saver.hook_into(training.model());
          for (std::int64_t step = 1; step <= 5; ++step) {
            training.step(step, [&] { saver.before_step(); });
            // A blocking save has the values that the average adds.
            save(training.state(), {store, "step_" + std::to_string(step)});
            ZeroCostSaver::Step now = {.number = step};
            if (step == 5) now.save_to = Location{store, "averages"};
            saver.after_step([&] { return training.state(); }, now);
          }
          saver.finish();
          EXPECT_EQ(saver.report().copies, 3);  // steps 2, 4 and 5
        });
        SavedAverages expected;
        run_world(1, [&] {
          for (int step : {2, 4}) {
            StateDict state;
            for (const auto& [name, shape] : shapes)
              state.add("model." + name.substr(4), zeros(shape, DType::float32));
            load(state, {store, "step_" + std::to_string(step)}, {.allow_unexpected = true});
            for (const StateDict::Entry& entry : state.entries())
              add_serially(expected, "ema." + entry.name.substr(6), std::get<Tensor>(entry.value),
                           ema);
            ++expected.updates;
          }
        });
        EXPECT_EQ(saved_averages({store, "averages"}, shapes), expected) << int(form);
      }
}

// Steps whose loss isn't below the threshold don't count.
TEST(EmaState, LeavesOutStepsWithALargeLoss) {
  World world({.ranks = 1, .deputies = 2});
  auto outcome = world.run([](Rank&) {
    ZeroCostSaver saver({.ema = EmaOptions{.decay = 0.5, .loss_threshold = 2.0}});
    auto state = [] {
      StateDict whole;
      whole.add("model.weight", full({2}, DType::float32, 8));
      return whole;
    };
    EXPECT_THAT(error_text([&] { saver.after_step(state, {.number = 1}); }),
                HasSubstr("expected the loss of step 1"));
    for (double loss : {2.0, 1.5, std::numeric_limits<double>::quiet_NaN(), 3.0, 1.0}) {
      saver.after_step(state, {.number = 1, .loss = loss});
      saver.before_step();
    }
    saver.finish();
    EXPECT_EQ(saver.report().copies, 2);
    StateDict averages = state();
    saver.add_averages(averages);
    EXPECT_EQ(averages.number("ema.updates"), 2);
    EXPECT_TRUE(
        same_bits(std::get<Tensor>(*averages.find("ema.weight")), full({2}, DType::float32, 6)));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// Masters stand for 16-bit parameters. A state without float32 values has no average.
TEST(EmaState, AveragesParametersAndMasters) {
  auto name_of = [](const std::string& name, DType dtype) {
    StateDict state;
    state.add(name, zeros({1}, dtype));
    return EmaState::averaged_name(state.entries()[0]).value_or("");
  };
  EXPECT_EQ(name_of("model.a.weight", DType::float32), "ema.a.weight");
  EXPECT_EQ(name_of("master.a.weight", DType::float32), "ema.a.weight");
  EXPECT_EQ(name_of("model.a.weight", DType::bfloat16), "");
  EXPECT_EQ(name_of("optim.a.weight", DType::float32), "");
  EmaState averages({});
  EXPECT_THAT(error_text([&] { averages.update(StateDict()); }),
              HasSubstr("expected float32 tensors under 'model.' or 'master.'"));
}

}  // namespace
}  // namespace simmesh::checkpoint
