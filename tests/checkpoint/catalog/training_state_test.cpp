#include "checkpoint/catalog/training_state.h"

#include <gtest/gtest.h>
#include <memory>

#include "checkpoint/save_load/load.h"
#include "checkpoint/save_load/save.h"
#include "checkpoint/store/memory_store.h"
#include "collectives/process_group.h"
#include "core/autograd/backward.h"
#include "core/nn/linear.h"
#include "core/ops/reductions/sums.h"
#include "core/optim/adam.h"
#include "core/optim/sgd.h"
#include "core/tensor/convert.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/checkpoint/worlds.h"
#include "tests/checkpoint/zero_engine.h"

namespace simmesh::checkpoint {
namespace {

std::vector<std::string> names_in(const StateDict& state) {
  std::vector<std::string> names;
  for (const StateDict::Entry& entry : state.entries()) names.push_back(entry.name);
  return names;
}

void train_step(nn::Linear& model, optim::Optimizer& optimizer, std::uint64_t seed) {
  backward(sum(model(formula({2, 3}, {.rule = Rule::unit, .seed = seed}))));
  optimizer.step();
  optimizer.zero_grad();
}

TEST(TrainingState, NamesParametersStateAndRates) {
  testing::run_world(1, [] {
    nn::Linear model({.in = 3, .out = 2});
    optim::AdamW adam(model.parameters(), {.lr = 0.5});
    EXPECT_EQ(names_in(state_dict(model, adam)),
              (std::vector<std::string>{"model.weight", "model.bias", "optim.weight.exp_avg",
                                        "optim.weight.exp_avg_sq", "optim.weight.step",
                                        "optim.bias.exp_avg", "optim.bias.exp_avg_sq",
                                        "optim.bias.step", "optim.lr"}));
    optim::Sgd plain(model.parameters(), {.lr = 0.5});
    EXPECT_EQ(names_in(state_dict(model, plain)),
              (std::vector<std::string>{"model.weight", "model.bias", "optim.weight.step",
                                        "optim.bias.step", "optim.lr"}));
  });
}

// A new optimiser continues from the saved one, with its rates. If the saved one had made no step,
// it stays without state.
TEST(TrainingState, GoesOnWithSavedState) {
  Location location = {std::make_shared<MemoryStore>(), "state"};
  testing::run_world(1, [&] {
    nn::Linear model({.in = 3, .out = 2}), other({.in = 3, .out = 2});
    optim::AdamW adam(model.parameters(), {.lr = 0.5});
    optim::AdamW fresh(other.parameters(), {.lr = 0.1});
    for (std::uint64_t seed : {1, 2}) train_step(model, adam, seed);
    save(state_dict(model, adam), location);
    load(state_dict(other, fresh), location);
    EXPECT_EQ(fresh.learning_rates(), adam.learning_rates());
    EXPECT_EQ(fresh.steps(0), 2);
    train_step(model, adam, 3);
    train_step(other, fresh, 3);
    EXPECT_SAME_BITS(model.parameter("weight"), other.parameter("weight"));
    EXPECT_SAME_BITS(adam.state(0).at("exp_avg_sq"), fresh.state(0).at("exp_avg_sq"));
  });
  Location before = {location.store, "before"};
  testing::run_world(1, [&] {
    nn::Linear model({.in = 3, .out = 2}), other({.in = 3, .out = 2});
    optim::AdamW untouched(model.parameters(), {}), trained(other.parameters(), {});
    save(state_dict(model, untouched), before);
    train_step(other, trained, 1);
    load(state_dict(other, trained), before);
    EXPECT_EQ(trained.steps(0), 0);
    EXPECT_TRUE(trained.state(0).empty());
  });
}

// A scheduler continues from the saved one.
TEST(TrainingState, KeepsAScheduler) {
  Location location = {std::make_shared<MemoryStore>(), "state"};
  testing::run_world(1, [&] {
    nn::Linear model({.in = 3, .out = 2}), other({.in = 3, .out = 2});
    optim::AdamW adam(model.parameters(), {.lr = 0.5}), fresh(other.parameters(), {.lr = 0.1});
    auto rate = optim::LearningRate::linear({.steps = 5});
    optim::Scheduler scheduler(adam, rate), resumed(fresh, rate);
    for (int step = 0; step < 3; ++step) scheduler.step();
    auto state_of = [](nn::Module& module, optim::Optimizer& optimizer, optim::Scheduler& of) {
      StateDict state = state_dict(module, optimizer);
      add_scheduler(state, of);
      return state;
    };
    save(state_of(model, adam, scheduler), location);
    load(state_of(other, fresh, resumed), location);
    EXPECT_EQ(resumed.steps(), 3);
    scheduler.step();
    resumed.step();
    EXPECT_EQ(fresh.learning_rates(), adam.learning_rates());
  });
}

zero::Engine engine_of(nn::Module& model, int stage) {
  return testing::adamw_engine(model, stage, true);
}

Tensor engine_input() {
  return formula({2, 3}, {.rule = Rule::unit, .seed = 5, .dtype = DType::bfloat16});
}

// Every stage loads what any other stage saved, on other ranks. 16-bit parameters are rebuilt from
// their masters.
TEST(TrainingState, EveryStageLoadsEveryOther2921) {
  for (int from : {0, 1, 2, 3}) {
    Location location = {std::make_shared<MemoryStore>(), "state"};
    testing::run_world(3, [&] {
      nn::Linear model({.in = 3, .out = 2});
      zero::Engine engine = engine_of(model, from);
      engine.backward(sum(engine(engine_input())));
      engine.step();
      save(state_dict(engine), location);
    });
    std::vector<std::vector<std::byte>> first;
    for (int to : {0, 1, 2, 3})
      testing::run_world(to == 0 ? 1 : 2, [&] {
        nn::Linear model({.in = 3, .out = 2});
        zero::Engine engine = engine_of(model, to);
        load(state_dict(engine), location);
        engine.masters_changed();
        std::vector<std::vector<std::byte>> loaded;
        for (const Tensor& tensor :
             {engine.safe_get_full_fp32_param("weight"),
              engine.safe_get_full_optimizer_state("bias", "exp_avg"), engine(engine_input())})
          loaded.emplace_back(tensor.data(), tensor.data() + tensor.bytes());
        if (first.empty()) first = loaded;
        EXPECT_EQ(loaded, first) << from << " to " << to;
      });
  }
}

zero::Engine engine_by(const char* optimizer, nn::Module& model, int stage) {
  zero::Config config{.gradient_clipping = 0, .zero_allow_untested_optimizer = true};
  config.zero_optimization.stage = stage;
  config.optimizer = zero::OptimizerConfig{.type = optimizer, .lr = 0.1};
  return zero::initialize(model, config, ProcessGroup::world());
}

void step_engine(zero::Engine& engine, std::uint64_t seed) {
  engine.backward(sum(engine(formula({2, 3}, {.rule = Rule::small, .seed = seed}))));
  engine.step();
}

// Sums of rows and columns, and single numbers, are whole on the ranks that have a piece. If this
// fails, they are cut, or lost where a rank of another stage has them.
TEST(TrainingState, KeepsStateThatIsNotLikeAParameter) {
  for (const char* optimizer : {"Adafactor", "NAdam", "ASGD"})
    for (int from : {0, 1, 2, 3}) {
      Location location = {std::make_shared<MemoryStore>(), "state"};
      std::vector<std::vector<std::byte>> after;
      auto note = [&](zero::Engine& engine) {
        Tensor weight = engine.safe_get_full_fp32_param("weight");
        if (this_rank().id() == 0)
          after.emplace_back(weight.data(), weight.data() + weight.bytes());
      };
      testing::run_world(4, [&] {
        nn::Linear model({.in = 3, .out = 2});
        zero::Engine engine = engine_by(optimizer, model, from);
        for (std::uint64_t seed : {1, 2}) step_engine(engine, seed);
        save(state_dict(engine), location);
        step_engine(engine, 3);
        note(engine);
      });
      for (int to : {0, 1, 2, 3})
        testing::run_world(to == 0 ? 1 : 4, [&] {
          nn::Linear model({.in = 3, .out = 2});
          zero::Engine engine = engine_by(optimizer, model, to);
          load(state_dict(engine), location);
          engine.masters_changed();
          step_engine(engine, 3);
          note(engine);
          EXPECT_EQ(engine.optimizer().steps(0), 3);
        });
      for (const auto& bytes : after) EXPECT_EQ(bytes, after[0]) << optimizer << " from " << from;
    }
}

// No stage stores a parameter beside its master.
TEST(TrainingState, LeavesOutParametersThatHaveMasters) {
  for (int stage : {0, 1, 2, 3})
    testing::run_world(2, [&] {
      nn::Linear model({.in = 3, .out = 2});
      zero::Engine engine = engine_of(model, stage);
      for (const std::string& name : names_in(state_dict(engine)))
        EXPECT_FALSE(name.starts_with("model.")) << name;
    });
}

// A 16-bit model without masters, for inference, loads the masters of every stage, and the other
// way round. 32-bit parameters under mixed precision are masters.
TEST(TrainingState, MastersAreEnoughForOtherModels) {
  for (int stage : {0, 1, 2, 3}) {
    Location location = {std::make_shared<MemoryStore>(), "state"};
    Tensor master;
    testing::run_world(2, [&] {
      nn::Linear model({.in = 3, .out = 2});
      zero::Engine engine = engine_of(model, stage);
      engine.backward(sum(engine(engine_input())));
      engine.step();
      save(state_dict(engine), location, {.layout = SaveLayout::modular});
      Tensor whole = engine.safe_get_full_fp32_param("weight");
      if (this_rank().id() == 0) master = whole.clone();
    });
    for (DType dtype : {DType::bfloat16, DType::float32})
      testing::run_world(3, [&] {
        nn::Linear model({.in = 3, .out = 2});
        model.to(dtype);
        StateDict state;
        for (const auto& [name, parameter] : model.named_parameters())
          state.add("model." + name, parameter);
        load(state, {location.store, "state/master_weight"});
        EXPECT_SAME_BITS(model.parameter("weight"), converted(master, dtype));
      });
  }
}

}  // namespace
}  // namespace simmesh::checkpoint
