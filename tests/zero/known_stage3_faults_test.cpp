#include <cmath>
#include <gmock/gmock.h>

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/optim/sgd.h"
#include "core/tensor/convert.h"
#include "tests/expect_error.h"
#include "tests/zero/zero_runs.h"
#include "zero/stage3/module_hooks.h"
#include "zero/stage3/stage3.h"

// Each fault that DeepSpeed's stage 3 had, or has, and that a deterministic run can see. The names
// have the numbers of its issues.
namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Collectives of one kind that this rank starts while the body runs, by the elements of its input.
std::vector<std::int64_t> collectives(std::string_view name, const std::function<void()>& body) {
  std::vector<std::int64_t> numels;
  ObserverScope scope([&](const Event& event) {
    if (event.kind == EventKind::collective && event.name == name) numels.push_back(event.numel);
  });
  body();
  return numels;
}

// A holder of parameters of the given sizes, to be driven by hand.
struct Sizes final : nn::Module {
  explicit Sizes(const std::vector<std::int64_t>& numels, DType dtype = DType::float32) {
    for (std::size_t i = 0; i < numels.size(); ++i)
      register_parameter("p" + std::to_string(i),
                         formula({numels[i]}, {.rule = Rule::wide, .seed = i, .dtype = dtype}));
  }
  nn::Tensors forward(const nn::Tensors& inputs) override { return inputs; }
};

Tensor original(std::size_t i, std::int64_t numel, DType dtype = DType::float32) {
  return formula({numel}, {.rule = Rule::wide, .seed = i, .dtype = dtype});
}

void expect_gathered(Stage3& stage, const std::vector<std::int64_t>& numels) {
  for (std::size_t i = 0; i < numels.size(); ++i)
    EXPECT_SAME_BITS(stage.params()[ParamId(i)].leaf().detach(), original(i, numels[i]));
}

Config unclipped(ZeroOptimization zero) {
  zero.stage = 3;
  zero.param_persistence_threshold = 0;
  return {
      .gradient_clipping = 0.0, .zero_allow_untested_optimizer = true, .zero_optimization = zero};
}

Stage3 stage_of(nn::Module& module, const Config& config) {
  static const MakeOptimizer make = make_adamw;
  return Stage3({module, make, config, ProcessGroup::world()});
}

// #8158: offsets in the buffer of an all-reduce fetch were those without padding. A minus zero must
// survive the sum, too.
SIMMESH_TEST(KnownStage3Faults, AllReduceFetchWithPadding8158, {.mesh = {3}, .schedules = 4}) {
  std::vector<std::int64_t> numels = {4, 1, 5, 7};
  Sizes model(numels);
  Tensor first = model.parameter("p0").detach();
  first.mutable_values<float>()[1] = -0.0f;
  Stage3 stage = stage_of(model, unclipped({.use_all_reduce_for_fetch_params = true}));
  stage.coordinator().reset();
  stage.coordinator().enter(0, Pass::forward);
  Tensor expected = original(0, 4);
  expected.mutable_values<float>()[1] = -0.0f;
  EXPECT_SAME_BITS(stage.params()[0].leaf().detach(), expected);
  for (std::size_t i = 1; i < numels.size(); ++i)
    EXPECT_SAME_BITS(stage.params()[ParamId(i)].leaf().detach(), original(i, numels[i]));
}

// #7415, #7418: the bucket's count wasn't reset, so that every later bucket held one parameter.
SIMMESH_TEST(KnownStage3Faults, BucketsFillAgain7415, {.mesh = {2}, .schedules = 4}) {
  Sizes model({10, 10, 10, 10, 10, 10});
  Stage3 stage = stage_of(model, unclipped({.reduce_bucket_size = 20}));
  auto reduced = collectives("reduce_scatter_tensor", [&] {
    for (ParamId id = 0; id < 6; ++id) stage.add_gradient(id, {});
    stage.end_gradients();
  });
  EXPECT_THAT(reduced, ElementsAre(20, 20, 20));
}

// #4321: a parameter of just the bucket's size was never reduced without reduce-scatter. #3832: a
// larger one was reduced from where it wasn't.
SIMMESH_TEST(KnownStage3Faults, GradientsOfTheBucketsSizeAndAbove4321And3832,
             {.mesh = {2}, .schedules = 4}) {
  for (bool reduce_scatter : {false, true}) {
    Sizes model({20, 30, 5});
    Stage3 stage =
        stage_of(model, unclipped({.reduce_scatter = reduce_scatter, .reduce_bucket_size = 20}));
    auto mean_of = [&](ParamId id, double value) {
      std::int64_t numel = stage.params()[id].numel();
      stage.add_gradient(id, full({numel}, DType::float32, value * double(1 + mesh.get_rank())));
    };
    mean_of(0, 2);
    mean_of(1, 4);
    mean_of(2, 8);
    stage.end_gradients();
    for (ParamId id = 0; id < 3; ++id)
      EXPECT_SAME_BITS(stage.full_grad(std::size_t(id)),
                       full({stage.params()[id].numel()}, DType::float32, 3.0 * (1 << id)));
  }
}

// #2686, #2695: the loss scale grew before the gradients were divided by it, which halved the step.
SIMMESH_TEST(KnownStage3Faults, TheStepAtWhichTheLossScaleGrows2686,
             {.mesh = {2}, .schedules = 4}) {
  auto model = new_linear(2, 1, false, DType::float16);
  Tensor weight = model->parameter("weight").detach();
  copy_(weight, full({1, 2}, DType::float16, 0.0));
  Config config = unclipped({});
  config.fp16 = {.enabled = true, .initial_scale_power = 4, .loss_scale_window = 1};
  MakeOptimizer make_sgd = [](const std::vector<nn::NamedTensor>& masters) {
    return std::make_unique<optim::Sgd>(std::vector<Tensor>{masters[0].second},
                                        optim::SgdOptions{.lr = 0.125});
  };
  Engine engine = initialize(*model, make_sgd, config, ProcessGroup::world());
  double scale = engine.loss_scale(), expected = 0.0;
  for (int step = 0; step < 4; ++step) {
    engine.backward(sum(to(engine(full({1, 2}, DType::float16, 1.0)), DType::float32)));
    engine.step();
    expected -= 0.125;
    EXPECT_SAME_BITS(engine.safe_get_full_fp32_param("weight"),
                     full({1, 2}, DType::float32, expected));
  }
  EXPECT_GT(engine.loss_scale(), scale);
}

// #5030: members of one bucket of which only some had a secondary shard hung.
SIMMESH_TEST(KnownStage3Faults, BucketsWithAndWithoutSecondaryShards5030,
             {.mesh = {4}, .schedules = 4}) {
  Sizes model({8, 8});
  Tensor frozen = model.parameter("p1");
  set_requires_grad(frozen, false);
  Stage3 stage = stage_of(model, unclipped({.zero_hpz_partition_size = 2}));
  stage.params().drop_secondaries();
  stage.coordinator().reset();
  auto gathered =
      collectives("all_gather_into_tensor", [&] { stage.coordinator().enter(0, Pass::forward); });
  EXPECT_THAT(gathered, ElementsAre(4, 2)) << "in the small group first, then in the whole one";
  expect_gathered(stage, {8, 8});
}

// #5613, #5652, #8210: slices of small and empty parameters in hpZ; #7707: secondary shards that
// were older than the parameter.
SIMMESH_TEST(KnownStage3Faults, SecondaryShardsOfSmallAndChangedParameters5613And7707,
             {.mesh = {4}, .schedules = 4}) {
  std::vector<std::int64_t> numels = {1, 3, 0, 5};
  Sizes model(numels);
  Stage3 stage = stage_of(model, unclipped({.zero_hpz_partition_size = 2}));
  ModuleHooks::install(stage);
  auto use = [&] {
    stage.coordinator().reset();
    stage.coordinator().enter(0, Pass::forward);
    expect_gathered(stage, {1, 3, 0});
    Tensor last = stage.params()[3].leaf().detach().clone();
    stage.coordinator().leave(0, Pass::forward);
    stage.coordinator().release_all();
    return last;
  };
  EXPECT_SAME_BITS(use(), original(3, 5));
  {
    GatheredParameters whole(model, {"p3"}, 0);
    Tensor values = model.parameter("p3").detach();
    copy_(values, original(77, 5));
  }
  EXPECT_SAME_BITS(use(), original(77, 5));
}

// Runs one of two layers, as the data says.
struct Branching final : nn::Module {
  Branching() {
    for (const char* name : {"a", "b"}) register_child(name, new_linear(3, 3));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    nn::Tensors out = in;
    for (const std::string& name : calls) out = {child(name)(out[0])};
    return out;
  }
  std::vector<std::string> calls = {"a"};
};

// #4808, #5006, #6870, #5828, #1938, #3599, #7205: routes that depend on the data, evaluation,
// skipped steps and shared modules left gathers in flight or ended in a tracing error.
SIMMESH_TEST(KnownStage3Faults, RoutesThatChange4808And1938,
             {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  using Route = std::vector<std::string>;
  std::vector<Route> routes = {{"a"},           {"a"},      {"b"},      {"a"},
                               {"a", "b"},      {"a", "b"}, {"a", "b"}, {"b", "a"},
                               {"a", "a", "a"}, {},         {"a", "b"}};
  auto train = [&](const Config& config) {
    Branching model;
    set_by_formula(model);
    Engine engine = initialize(model, make_adamw, config, ProcessGroup::world());
    for (std::size_t i = 0; i < routes.size(); ++i) {
      model.calls = routes[i];
      Tensor input = rank_input(mesh.get_rank(), std::int64_t(i), {2, 3});
      if (i % 3 == 2) {
        NoGrad mode;
        engine.eval();
        engine(input);
        engine.train();
      }
      if (routes[i].empty()) continue;
      // An infinity is skipped, and the next iteration continues.
      engine.backward(sum(mul(engine(input), i == 5 ? HUGE_VAL : 1.0)));
      engine.step();
    }
    std::vector<Tensor> masters;
    for (const auto& [name, parameter] : model.named_parameters())
      masters.push_back(engine.safe_get_full_fp32_param(name));
    return masters;
  };
  Config flat = stage0();
  flat.zero_optimization.stage = 2;
  std::vector<Tensor> expected = train(flat), actual = train(small_stage3());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_SAME_BITS(actual[i], expected[i]);
}

// #7998, #8262: ranks that run other modules, or one more often, hang; here the report says so.
TEST(KnownStage3Faults, RanksThatRunOtherModulesAreReported7998) {
  for (std::vector<std::string> other : {std::vector<std::string>{"b"}, {"a", "b"}, {"a", "a"}}) {
    World world({.ranks = 2});
    Outcome outcome = world.run([&](Rank& rank) {
      Branching model;
      set_by_formula(model);
      Engine engine = initialize(model, make_adamw, small_stage3(), ProcessGroup::world());
      if (rank.id() == 1) model.calls = other;
      for (int i = 0; i < 3; ++i) {
        engine.backward(sum(engine(full({2, 3}, DType::float32, 1.0))));
        engine.step();
      }
    });
    EXPECT_FALSE(outcome.ok());
    EXPECT_THAT(report(outcome),
                ::testing::AnyOf(HasSubstr("deadlock"), HasSubstr("must run the same modules"),
                                 HasSubstr("all_gather"), HasSubstr("reduce_scatter")));
    EXPECT_EQ(outcome.live_storages, 0);
  }
}

// #8043: a trace that was recorded before the hooks changed was used after it.
SIMMESH_TEST(KnownStage3Faults, ATraceCanBeForgotten8043, {.mesh = {2}, .schedules = 4}) {
  Sizes model({4});
  Stage3 stage = stage_of(model, unclipped({}));
  auto pass = [&] {
    stage.coordinator().reset();
    stage.coordinator().enter(0, Pass::forward);
    stage.coordinator().leave(0, Pass::forward);
  };
  pass();
  pass();
  EXPECT_EQ(stage.coordinator().mode(), TraceMode::complete);
  stage.coordinator().invalidate();
  pass();
  EXPECT_EQ(stage.coordinator().mode(), TraceMode::record);
}

// #7811, #7817, #7832: changes of gathered parameters without a modifier rank went unnoticed on
// some ranks.
TEST(KnownStage3Faults, ChangesWithoutAModifierRank7811) {
  for (bool checks : {false, true}) {
    World world({.ranks = 3});
    Outcome outcome = world.run([&](Rank& rank) {
      Sizes model({6});
      Config config = unclipped({.enable_sanity_checks = checks});
      Stage3 stage = stage_of(model, config);
      ModuleHooks::install(stage);
      {
        GatheredParameters whole(model);
        Tensor values = model.parameter("p0").detach();
        if (rank.id() == 2) copy_(values, original(50, 6));
      }
      GatheredParameters whole(model);
      EXPECT_SAME_BITS(model.parameter("p0").detach(), original(0, 6));
    });
    EXPECT_EQ(outcome.ok(), !checks) << report(outcome);
    if (!checks) continue;
    EXPECT_THAT(report(outcome), HasSubstr("got one on another rank"));
    EXPECT_THAT(report(outcome), HasSubstr("no change of a gathered parameter"));
  }
}

// #6351: training depended on the size of the bucket. #966, #1488: it depended on the stage, the
// more so with accumulation.
SIMMESH_TEST(KnownStage3Faults, TrainingDependsOnNoBucketAndNoStage6351And966,
             {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  Config whole = stage0();
  whole.gradient_accumulation_steps = 2;
  ZeroRun expected = run_zero(three_linears, whole);
  for (std::int64_t bucket : {1, 10, 25, 30, 1000}) {
    Config config = small_stage3();
    config.gradient_accumulation_steps = 2;
    config.zero_optimization.reduce_bucket_size = bucket;
    expect_same_run(run_zero(three_linears, config), expected);
  }
}

// #3033: tied parameters were found by a data pointer that is null for all of them.
SIMMESH_TEST(KnownStage3Faults, TiedParametersAreOne3033,
             {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  auto make = [] {
    std::vector<nn::NamedModule> children;
    for (const char* name : {"a", "b", "c"}) children.emplace_back(name, new_linear(3, 3));
    auto model = std::make_shared<nn::Sequential>(children);
    model->child("c").set_parameter("weight", model->child("a").parameter("weight"));
    return model;
  };
  expect_same_run(run_zero(make, small_stage3()), run_zero(make, stage0()));
  EXPECT_EQ(make()->parameters().size(), 5u);
}

// #940: parameters of fewer elements than ranks; #8280, #8375, #8467: of none.
SIMMESH_TEST(KnownStage3Faults, ParametersOfFewElementsAndNone940And8375,
             {.mesh = {4}, .schedules = 4}) {
  std::vector<std::int64_t> numels = {1, 0, 3, 0};
  for (bool sequential : {false, true}) {
    Sizes model(numels);
    Stage3 stage = stage_of(model, unclipped({.allgather_sequential = sequential}));
    for (int pass = 0; pass < 3; ++pass) {
      stage.coordinator().reset();
      stage.coordinator().enter(0, Pass::forward);
      if (pass == 0) expect_gathered(stage, numels);  // later ones are those that decayed
      stage.coordinator().leave(0, Pass::forward);
      for (ParamId id = 0; id < 4; ++id) stage.add_gradient(id, {});
      stage.end_gradients();
      stage.coordinator().end_backward();
      EXPECT_TRUE(stage.step(1.0).is_applied);
    }
  }
}

// Seen without an optimiser: waiting for one member of a gather made another one, which had been
// released since, available again with no elements.
SIMMESH_TEST(KnownStage3Faults, AGatherTakesEffectOnce, {.mesh = {2}, .schedules = 4}) {
  for (bool sequential : {false, true}) {
    nn::ModulePtr model = three_linears();
    set_by_formula(*model);
    Config config = small_stage3();
    config.zero_optimization.allgather_sequential = sequential;
    config.zero_optimization.prefetch_bucket_size = 100;
    config.zero_optimization.max_reuse_distance = 0;
    Engine engine = initialize(*model, MakeOptimizer(), config, ProcessGroup::world());
    NoGrad mode;
    Tensor input = rank_input(0, 0, {2, 3}), first = engine(input);
    for (int i = 0; i < 4; ++i) EXPECT_SAME_BITS(engine(input), first);
  }
}

}  // namespace
}  // namespace simmesh::zero
