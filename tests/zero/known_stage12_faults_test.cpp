#include <cmath>
#include <gmock/gmock.h>

#include "collectives/collective_call.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/conversion.h"
#include "core/optim/sgd.h"
#include "tests/zero/zero_runs.h"

// Each fault that DeepSpeed's stages 1 and 2 had, or have, and that a deterministic run can see.
// The names have the numbers of its issues.
namespace simmesh::zero {
namespace {

std::unique_ptr<optim::Optimizer> plain_sgd(const std::vector<nn::NamedTensor>& masters) {
  std::vector<Tensor> tensors;
  for (const auto& [name, master] : masters) tensors.push_back(master);
  return std::make_unique<optim::Sgd>(tensors, optim::SgdOptions{.lr = 0.125});
}

Config flat_config(std::int64_t stage, const ZeroOptimization& zero = {}) {
  Config config{
      .gradient_clipping = 0.0, .zero_allow_untested_optimizer = true, .zero_optimization = zero};
  config.zero_optimization.stage = stage;
  return config;
}

// Parameters of the given sizes, all zeros; the loss is a weighted sum of them.
struct WeightedSum final : nn::Module {
  explicit WeightedSum(std::vector<std::int64_t> sizes) : numels(std::move(sizes)) {
    for (std::size_t i = 0; i < numels.size(); ++i)
      register_parameter("p" + std::to_string(i), zeros({numels[i]}, DType::float32));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    Tensor total = zeros(DimSpan(), DType::float32);
    for (std::size_t i = 0; i < numels.size(); ++i)
      total = add(total, mul(sum(parameter("p" + std::to_string(i))), double(i + 1)));
    return {mul(total, in[0])};
  }
  std::vector<std::int64_t> numels;
};

// The input of a rank: the mean over two ranks is 3.
Tensor weight_of(std::int64_t rank) { return full({}, DType::float32, rank == 0 ? 2.0 : 4.0); }

// #4321: a gradient of just the bucket's size was never reduced without reduce-scatter. #3832: a
// larger one was reduced from a buffer that didn't contain it.
SIMMESH_TEST(KnownStage12Faults, GradientsOfTheBucketsSizeAndAbove4321And3832,
             {.mesh = {2}, .schedules = 4}) {
  for (std::int64_t stage : {1, 2})
    for (bool reduce_scatter : {false, true})
      for (bool is_contiguous : {false, true}) {
        WeightedSum model({20, 30, 5});
        Engine engine = initialize(model, plain_sgd,
                                   flat_config(stage, {.contiguous_gradients = is_contiguous,
                                                       .reduce_scatter = reduce_scatter,
                                                       .reduce_bucket_size = 20}),
                                   ProcessGroup::world());
        engine.backward(engine(weight_of(mesh.get_rank())));
        engine.step();
        for (std::size_t i = 0; i < 3; ++i)
          EXPECT_SAME_BITS(model.slots()[i].tensor.detach(),
                           full({model.numels[i]}, DType::float32, -0.375 * double(i + 1)));
      }
}

// #7415, #7418: the bucket's count wasn't reset, so that every later bucket held one gradient.
SIMMESH_TEST(KnownStage12Faults, BucketsFillAgain7415, {.mesh = {2}, .schedules = 2}) {
  for (std::int64_t stage : {1, 2}) {
    WeightedSum model({10, 10, 10, 10, 10, 10});
    Engine engine = initialize(model, plain_sgd, flat_config(stage, {.reduce_bucket_size = 20}),
                               ProcessGroup::world());
    for (int step = 0; step < 2; ++step) {
      const auto& calls = this_rank().counters()[std::size_t(CollectiveOp::all_reduce)];
      auto before = calls;
      engine.backward(engine(weight_of(0)));
      EXPECT_EQ(calls - before, 3u);
      engine.step();
    }
  }
}

// #2686, #2695: the loss scale grew before the gradients were divided by it, which halved the step.
SIMMESH_TEST(KnownStage12Faults, TheStepAtWhichTheLossScaleGrows2686,
             {.mesh = {2}, .schedules = 4}) {
  for (std::int64_t stage : {0, 1, 2}) {
    auto model = new_linear(2, 1, false, DType::float16);
    Tensor weight = model->parameter("weight").detach();
    copy_(weight, full({1, 2}, DType::float16, 0.0));
    Config config = flat_config(stage);
    config.fp16 = {.enabled = true, .initial_scale_power = 4, .loss_scale_window = 1};
    Engine engine = initialize(*model, plain_sgd, config, ProcessGroup::world());
    double scale = engine.loss_scale(), expected = 0.0;
    for (int step = 0; step < 4; ++step) {
      engine.backward(sum(to(engine(full({1, 2}, DType::float16, 1.0)), DType::float32)));
      engine.step();
      expected -= 0.125;
      EXPECT_SAME_BITS(engine.safe_get_full_fp32_param("weight"),
                       full({1, 2}, DType::float32, expected));
      EXPECT_EQ(*engine.get_global_grad_norm(), double(std::sqrt(2.0f)));
    }
    EXPECT_GT(engine.loss_scale(), scale);
  }
}

// #6351: training depended on the size of the bucket. #966, #1488: it depended on the stage, the
// more so with accumulation.
SIMMESH_TEST(KnownStage12Faults, TrainingDependsOnNoBucketAndNoStage6351And966,
             {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  Config whole = stage0();
  whole.gradient_accumulation_steps = 2;
  ZeroRun expected = run_zero(three_linears, whole);
  for (std::int64_t stage : {1, 2})
    for (std::int64_t bucket : {1, 10, 25, 30, 1000}) {
      Config config = whole;
      config.zero_optimization.stage = stage;
      config.zero_optimization.reduce_bucket_size = bucket;
      expect_same_run(run_zero(three_linears, config), expected);
    }
}

// #3033: tied parameters were found by a data pointer; as one they have one place and one gradient.
SIMMESH_TEST(KnownStage12Faults, TiedParametersAreOne3033,
             {.mesh = {2}, .schedules = 4, .arithmetic = exact}) {
  auto tied = [] {
    std::vector<nn::NamedModule> children;
    for (const char* name : {"a", "b", "c"}) children.emplace_back(name, new_linear(3, 3));
    auto model = std::make_shared<nn::Sequential>(children);
    model->child("c").set_parameter("weight", model->child("a").parameter("weight"));
    return model;
  };
  for (std::int64_t stage : {1, 2}) {
    Config config = stage0();
    config.zero_optimization.stage = stage;
    expect_same_run(run_zero(tied, config), run_zero(tied, stage0()));
  }
}

// #940: fewer elements than ranks. #8280, #8375, #8467: parameters without any.
SIMMESH_TEST(KnownStage12Faults, ParametersOfFewElementsAndNone940And8280,
             {.mesh = {4}, .schedules = 4}) {
  for (std::int64_t stage : {1, 2})
    for (bool round_robin : {false, true}) {
      WeightedSum model({1, 0, 3, 0});
      Engine engine =
          initialize(model, plain_sgd, flat_config(stage, {.round_robin_gradients = round_robin}),
                     ProcessGroup::world());
      for (int step = 1; step <= 2; ++step) {
        engine.backward(engine(weight_of(mesh.get_rank() % 2)));
        engine.step();
        EXPECT_SAME_BITS(engine.safe_get_full_fp32_param("p0"),
                         full({1}, DType::float32, -0.375 * step));
        EXPECT_SAME_BITS(engine.safe_get_full_fp32_param("p2"),
                         full({3}, DType::float32, -1.125 * step));
        EXPECT_EQ(engine.safe_get_full_fp32_param("p1").numel(), 0);
      }
    }
}

}  // namespace
}  // namespace simmesh::zero
