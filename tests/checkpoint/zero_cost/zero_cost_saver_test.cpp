#include "checkpoint/zero_cost/zero_cost_saver.h"

#include <gmock/gmock.h>

#include "checkpoint/save_load/load.h"
#include "checkpoint/store/faulty_store.h"
#include "checkpoint/tools/verify.h"
#include "core/check/error.h"
#include "tests/checkpoint/background_worlds.h"
#include "tests/checkpoint/worlds.h"
#include "tests/checkpoint/zero_cost/small_training.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::AllOf;
using testing::background_schedules;
using testing::contents;
using ::testing::HasSubstr;
using testing::run_background;
using testing::run_world;
using testing::SmallForm;
using testing::SmallTraining;

constexpr std::int64_t saved_steps = 3;
constexpr SmallForm all_forms[] = {SmallForm::alone, SmallForm::replicated, SmallForm::sharded,
                                   SmallForm::zero1, SmallForm::zero3};

std::int64_t ranks_of(SmallForm form) { return form == SmallForm::alone ? 1 : 3; }

Location step_of(const std::shared_ptr<Store>& store, std::int64_t step) {
  return {store, "step_" + std::to_string(step)};
}

StateDict with_step(StateDict state, std::int64_t step) {
  state.add("step", step);
  return state;
}

// Returns the files of blocking saves after each step.
std::map<std::string, std::vector<std::byte>> saved_blocking(SmallForm form, std::int64_t micro) {
  auto store = std::make_shared<MemoryStore>();
  run_world(ranks_of(form), [&] {
    SmallTraining training(form, micro);
    for (std::int64_t step = 0; step < saved_steps; ++step) {
      training.step(step, [] {});
      save(with_step(training.state(), step), step_of(store, step));
    }
  });
  return contents(*store);
}

// Trains, saves after each step with a saver, and returns its report.
ZeroCostReport train_and_save(SmallTraining& training, const ZeroCostOptions& options,
                              const std::shared_ptr<Store>& store) {
  ZeroCostSaver saver(options);
  saver.hook_into(training.model());
  for (std::int64_t step = 0; step < saved_steps; ++step) {
    training.step(step, [&] { saver.before_step(); });
    saver.after_step([&] { return with_step(training.state(), step); },
                     {.number = step, .save_to = step_of(store, step)});
  }
  saver.finish();
  return saver.report();
}

// With chunks of all sizes, one to three micro-batches, and copies that end in a hook or before the
// optimiser's step, the files are those of saves that block, byte for byte.
TEST(ZeroCostSaver, SavesWhatABlockingSaveSaves) {
  for (SmallForm form : all_forms)
    for (std::int64_t micro : {1, 2, 3}) {
      auto expected = saved_blocking(form, micro);
      for (std::int64_t capacity : {1, 7, 1000})
        for (const WorldOptions& options : background_schedules(ranks_of(form))) {
          auto store = std::make_shared<MemoryStore>();
          run_background(options, [&] {
            SmallTraining training(form, micro);
            ZeroCostReport report = train_and_save(
                training, {.background = {.in_flight = 2}, .hook_capacity = capacity}, store);
            EXPECT_EQ(report.copies, saved_steps);
            EXPECT_EQ(report.saves.size(), std::size_t(saved_steps));
            EXPECT_EQ(report.bytes_at_once, 0);
            EXPECT_GT(report.bytes_in_hooks, 0);
            EXPECT_GT(report.bytes_before_step, 0);  // the last copy has no backward pass
          });
          EXPECT_EQ(contents(*store), expected) << int(form) << " " << micro << " " << capacity;
        }
    }
}

// Without hooks, everything is copied right before the optimiser's step. PaddleFleet once waited
// for ever.
TEST(ZeroCostSaver, CopiesBeforeTheStepWhereNoHookRuns) {
  auto expected = saved_blocking(SmallForm::sharded, 1);
  for (const WorldOptions& options : background_schedules(3)) {
    auto store = std::make_shared<MemoryStore>();
    run_background(options, [&] {
      SmallTraining training(SmallForm::sharded, 1);
      ZeroCostSaver saver({});
      for (std::int64_t step = 0; step < saved_steps; ++step) {
        training.step(step, [&] { saver.before_step(); });
        saver.after_step([&] { return with_step(training.state(), step); },
                         {.number = step, .save_to = step_of(store, step)});
      }
      saver.finish();
      EXPECT_EQ(saver.report().bytes_in_hooks, 0);
      EXPECT_GT(saver.report().bytes_before_step, 0);
    });
    EXPECT_EQ(contents(*store), expected);
  }
}

// With more hooks than chunks, hooks after the last chunk copy nothing.
TEST(ZeroCostSaver, HooksBehindTheLastChunkDoNothing) {
  World world({.ranks = 1, .deputies = 2});
  auto outcome = world.run([](Rank&) {
    StateDict state;
    state.add("model.weight", zeros({9}, DType::uint8));
    state.add("model.none", zeros({0, 3}, DType::float32));
    auto store = std::make_shared<MemoryStore>();
    ZeroCostSaver saver({.hook_capacity = 4, .usage = 1.0});
    for (int hook = 0; hook < 2; ++hook) saver.at_hook();
    saver.after_step([&] { return state; }, {.number = 1, .save_to = step_of(store, 1)});
    std::vector<std::int64_t> copied;
    for (int hook = 0; hook < 5; ++hook) {
      saver.at_hook();
      copied.push_back(saver.report().bytes_in_hooks);
    }
    EXPECT_EQ(copied, (std::vector<std::int64_t>{3, 6, 9, 9, 9}));
    saver.before_step();
    EXPECT_EQ(saver.report().bytes_before_step, 0);
    for (int hook = 0; hook < 2; ++hook) saver.at_hook();
    saver.before_step();
    saver.finish();
    EXPECT_EQ(saver.report().saves.size(), 1u);
    EXPECT_TRUE(verify(step_of(store, 1)).empty());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// Under every schedule, a tensor that is written before the step is named, even if its chunk was
// copied, and nothing is saved. A tensor that is copied at once may change.
TEST(ZeroCostSaver, FindsATensorThatIsWrittenTooEarly) {
  for (int hooks_before : {0, 1, 2})
    for (const char* early : {"model.a", "model.b", "model.counter"})
      for (const WorldOptions& options : background_schedules(1)) {
        auto store = std::make_shared<MemoryStore>();
        run_background(options, [&] {
          std::map<std::string, Tensor> tensors;
          StateDict state;
          for (const char* name : {"model.a", "model.b", "model.counter"})
            state.add(name, tensors[name] = zeros({4}, DType::float32));
          ZeroCostSaver saver(
              {.hook_capacity = 2, .usage = 1.0, .copied_at_once = {"model.counter"}});
          saver.after_step([&] { return state; }, {.number = 1, .save_to = step_of(store, 1)});
          for (int hook = 0; hook < hooks_before; ++hook) saver.at_hook();
          tensors[early].mutable_values<float>()[0] = 1;
          std::string error = error_text([&] { saver.before_step(); });
          if (early == std::string("model.counter"))
            EXPECT_EQ(error, "");
          else
            EXPECT_THAT(error, HasSubstr(fmt::format("'{}' was written before", early)));
          EXPECT_EQ(error_text([&] { saver.finish(); }), "");
        });
        EXPECT_EQ(store->files("").empty(), early != std::string("model.counter"));
        if (early != std::string("model.counter")) continue;
        run_world(1, [&] {
          StateDict loaded;
          for (const char* name : {"model.a", "model.b", "model.counter"})
            loaded.add(name, full({4}, DType::float32, 7));
          load(loaded, step_of(store, 1));
          for (const StateDict::Entry& entry : loaded.entries())
            EXPECT_TRUE(same_bits(std::get<Tensor>(entry.value), zeros({4}, DType::float32)));
        });
      }
}

// Each operation of the store fails once, in the save of the second step. A call of the saver
// raises, and names the rank of the writer, the place and the reason. The first checkpoint is
// whole.
TEST(ZeroCostSaver, TrainingRaisesWhereTheWriterFails) {
  for (std::int64_t operation = 1;; ++operation) {
    bool has_failed = false;
    for (const WorldOptions& options : background_schedules(2, 1)) {
      auto memory = std::make_shared<MemoryStore>();
      auto faulty = std::make_shared<FaultyStore>(
          memory, FaultyStore::Plan{FaultyStore::Fault::fail, operation});
      World world(options);
      Outcome outcome = world.run([&](Rank&) {
        SmallTraining training(SmallForm::sharded, 2);
        ZeroCostSaver saver({.hook_capacity = 8});
        saver.hook_into(training.model());
        for (std::int64_t step = 0; step < 3; ++step) {
          training.step(step, [&] { saver.before_step(); });
          saver.after_step(
              [&] { return training.state(); },
              {.number = step,
               .save_to = step_of(step == 1 ? std::shared_ptr<Store>(faulty) : memory, step)});
        }
        saver.finish();
      });
      has_failed = !outcome.ok();
      EXPECT_TRUE(verify(step_of(memory, 0)).empty());
      if (!has_failed) continue;
      EXPECT_EQ(outcome.failure->kind, Failure::Kind::error);
      EXPECT_THAT(report(outcome),
                  AllOf(HasSubstr("the writer of rank "), HasSubstr("failed at memory/step_1"),
                        HasSubstr("cannot "), HasSubstr("the operation failed")));
    }
    if (!has_failed) break;
    ASSERT_LT(operation, 100);
  }
}

TEST(ZeroCostSaver, RefusesWhatMakesNoSense) {
  World world({.ranks = 1, .deputies = 2});
  auto outcome = world.run([](Rank&) {
    auto problem = [](const ZeroCostOptions& options) {
      return error_text([&] { ZeroCostSaver saver(options); });
    };
    EXPECT_THAT(problem({.hook_capacity = 0}), HasSubstr("expected at least one hook, got 0"));
    EXPECT_THAT(problem({.usage = 0}), HasSubstr("expected a usage within (0, 1]"));
    EXPECT_THAT(problem({.background = {.in_flight = 0}}),
                HasSubstr("at least one save in flight"));
    EXPECT_THAT(problem({.ema = EmaOptions{.decay = 2}}), HasSubstr("coefficient within [0, 1]"));
    EXPECT_THAT(problem({.ema = EmaOptions{.interval = 0}}), HasSubstr("interval of at least 1"));
    ZeroCostSaver saver({.copied_at_once = {"model.typo"}});
    EXPECT_THAT(error_text([&] {
                  saver.after_step([] { return StateDict(); },
                                   {.save_to = step_of(std::make_shared<MemoryStore>(), 1)});
                }),
                HasSubstr("expected names of the state, got 'model.typo'"));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// 2^20 bytes are copied in four chunks, each with 2^-12 s in device memory and 2^-11 s to the host.
// Three of them follow hooks that are 2^-10 s apart, so the optimiser waits for the last chunk
// alone. The writer takes 2^-7 s, and the next step but one waits for it.
TEST(ZeroCostSaver, SaysHowLongTrainingStoodStill) {
  constexpr double unit_us = 1e6 / 4096;  // 2^-12 s
  DeviceModel device{.launch_us = 0, .memory_gb_s = 1, .host_gb_s = 0.5};
  World world({.ranks = 1, .deputies = 2, .device = device});
  auto outcome = world.run([&](Rank&) {
    auto store = std::make_shared<MemoryStore>();
    StateDict state;
    state.add("model.weight", zeros({1 << 18}, DType::float32));
    ZeroCostSaver saver({.background = {.write_gb_s = 0.125}, .hook_capacity = 4, .usage = 1.0});
    auto compute = [] { Clock::active()->launch({.name = "compute", .cost_us = 4 * unit_us}); };
    for (std::int64_t step = 0; step < 2; ++step) {
      saver.after_step([&] { return state; }, {.number = step, .save_to = step_of(store, step)});
      for (int hook = 0; hook < 3; ++hook) {
        compute();
        saver.at_hook();
      }
      compute();
      saver.before_step();
    }
    saver.finish();
  });
  ASSERT_TRUE(outcome.ok()) << report(outcome);
  const std::vector<DeviceReport::Stream>& streams = outcome.devices[0].streams;
  auto copies = std::find_if(streams.begin(), streams.end(),
                             [](const auto& s) { return s.name == "checkpoint copies"; });
  auto writer = std::find_if(streams.begin(), streams.end(),
                             [](const auto& s) { return s.name == "checkpoint writer"; });
  ASSERT_TRUE(copies != streams.end() && writer != streams.end());
  EXPECT_EQ(copies->busy_us, 2 * 12 * unit_us);
  EXPECT_EQ(copies->exposed_us, 2 * 3 * unit_us);
  EXPECT_EQ(writer->busy_us, 2 * 32 * unit_us);
  // The second copy begins when the first one is written, and finish waits for the second one.
  EXPECT_EQ(writer->exposed_us, 2 * 32 * unit_us);
}

}  // namespace
}  // namespace simmesh::checkpoint
