#include "pipeline/stage/stage.h"

#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "pipeline/stage/event.h"
#include "tests/expect_error.h"
#include "tests/pipeline/small_pipeline.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;
using simmesh::testing::SmallPipeline;

void on_one_rank(const std::function<void()>& body) {
  Outcome outcome = World({.ranks = 1}).run([&](Rank&) { body(); });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// If this fails, a stage of another pipeline is taken.
TEST(PipelineStage, RefusesPlacesOutsideOfThePipeline) {
  on_one_rank([] {
    nn::ModulePtr module = SmallPipeline().stage(0);
    expect_error([&] { PipelineStage(*module, {.stage_index = 2, .num_stages = 2}); },
                 ErrorKind::value_error, "out of range of 2");
    expect_error([&] { PipelineStage(*module, {.stage_index = -1, .num_stages = 0}); },
                 ErrorKind::runtime_error, "group size 1");
    expect_error(
        [&] {
          PipelineStage(*module, {.num_stages = 1, .input_args = std::vector<StepValue>{3.5}});
        },
        ErrorKind::runtime_error, "type float");
  });
}

// If this fails, the two parts of a stage's backward add up to another one than the whole.
TEST(PipelineStage, SplitsItsBackward) {
  on_one_rank([] {
    SmallPipeline small;
    Tensor x = small.input(), gradient = small.target();
    std::vector<Tensor> grads[2], of_input(2);
    for (bool is_full : {true, false}) {
      nn::ModulePtr module = small.stage(1);
      TensorMeta meta{x.shape(), x.dtype(), true};
      Tensor example = zeros(x.shape(), x.dtype());
      set_requires_grad(example);
      PipelineStage stage(*module, {.stage_index = 1,
                                    .num_stages = 3,
                                    .input_args = std::vector<StepValue>{example},
                                    .output_args = std::vector<StepValue>{example}});
      stage.begin_call(true);
      stage.use_given_metas();
      stage.set_inputs(0, {x});
      stage.forward(0, {}, {});
      EXPECT_EQ(stage.outputs_to_send(0).size(), 1u);
      EXPECT_TRUE(stage.release_outputs(0));
      EXPECT_FALSE(stage.release_outputs(0));
      stage.set_output_grads(0, {gradient});
      stage.backward({.microbatch = 0, .is_full = is_full});
      of_input[is_full] = stage.take_input_grads(0)[0];
      if (!is_full) {
        EXPECT_FALSE(grad_of(module->parameters()[0]).is_defined());
        stage.backward_weight(0, true);
        expect_error([&] { stage.backward_weight(0, true); }, ErrorKind::assertion_error, "before");
      }
      for (const Tensor& parameter : module->parameters())
        grads[is_full].push_back(grad_of(parameter));
      EXPECT_EQ(stage.peak_states(), 1u);
    }
    EXPECT_TRUE(same_bits(of_input[0], of_input[1]));
    for (std::size_t i = 0; i < grads[0].size(); ++i)
      EXPECT_TRUE(same_bits(grads[0][i], grads[1][i]));
  });
}

// If this fails, contexts are lost, called twice, or hide errors.
TEST(PipelineStage, CallsOneContextAroundEachForward) {
  on_one_rank([] {
    SmallPipeline small{.stages = 1};
    nn::ModulePtr module = small.stage(0);
    PipelineStage stage(*module, {.stage_index = 0, .num_stages = 1});
    int calls = 0;
    auto context = [&](const PipelineStageInfo& info, const std::function<void()>& forward) {
      calls += info.stage_index == 0 && info.microbatch_index == 3 ? 1 : 100;
      forward();
    };
    ForwardContextHandle handle = stage.register_forward_context(context);
    expect_error([&] { stage.register_forward_context(context); }, ErrorKind::runtime_error,
                 "already registered");
    stage.begin_call(false);
    stage.forward(3, {small.input()}, {});
    EXPECT_EQ(calls, 1);
    handle.remove();
    stage.register_forward_context([](const PipelineStageInfo&, const std::function<void()>&) {});
    expect_error([&] { stage.forward(3, {small.input()}, {}); }, ErrorKind::runtime_error,
                 "suppressed");
  });
}

// If this fails, a failure inside of a stage doesn't name the stage.
TEST(PipelineStage, NamesTheStageThatFails) {
  on_one_rank([] {
    nn::ModulePtr module = SmallPipeline().stage(0);
    PipelineStage stage(*module, {.stage_index = 0, .num_stages = 1});
    stage.begin_call(false);
    expect_error(
        [&] {
          stage.forward(0, {zeros({2, 9}, DType::float64)}, {});
        },
        ErrorKind::runtime_error, "[Stage 0] failed to run forward");
    expect_error(
        [&] {
          stage.forward(0, {SmallPipeline().input()}, {{"scale", 2.0}});
        },
        ErrorKind::runtime_error, "unexpected keyword argument 'scale'");
  });
}

// If this fails, shapes that are found out change buffers or gradients.
TEST(PipelineStage, FindsOutShapesWithoutATrace) {
  on_one_rank([] {
    SmallPipeline small;
    nn::ModulePtr module = small.stage(0);
    PipelineStage stage(*module, {.stage_index = 1, .num_stages = 2});
    stage.begin_call(true);
    stage.begin_inference();
    TensorMeta meta{Shape{2, 3}, DType::float64, true};
    TensorMetas outputs = stage.infer_forward(TensorMetas{meta}, {});
    EXPECT_EQ(outputs, TensorMetas{meta});
    GradMetas grads = stage.infer_backward(SmallPipeline::loss, zeros({2, 3}, DType::float64), {});
    EXPECT_EQ(grads[0], (TensorMeta{Shape{2, 3}, DType::float64, false}));
    expect_error([&] { stage.infer_backward(SmallPipeline::loss, {}, {}); },
                 ErrorKind::runtime_error, "target required");
    stage.end_inference();
    for (const Tensor& parameter : module->parameters())
      EXPECT_FALSE(grad_of(parameter).is_defined());
  });
}

}  // namespace
}  // namespace simmesh::pipeline
