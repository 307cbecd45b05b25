#include "pipeline/runtime/inference.h"

#include <gtest/gtest.h>

#include "core/ops/functions/default_generator.h"
#include "pipeline/runtime/posts.h"
#include "pipeline/stage/event.h"
#include "tests/every_schedule.h"
#include "tests/pipeline/small_pipeline.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::SmallPipeline;

// If this fails, stages on two ranks disagree on the tensors between them, or draw random numbers.
TEST(Inference, TellsEachStageWhatItsNeighboursSend) {
  SmallPipeline small{.stages = 2, .microbatches = 1, .rows = 2};
  run_every_schedule(2, [&](Rank& rank) {
    auto index = std::int64_t(rank.id());
    nn::ModulePtr module = small.stage(index);
    StageOptions options{.stage_index = index, .num_stages = 2};
    options.forward = [](nn::Module& called, const nn::Tensors& inputs, const Keywords&) {
      default_generator().next();
      return called.call(inputs);
    };
    PipelineStage stage(*module, options);
    StageSet stages({&stage}, StageMap(std::vector<std::int64_t>{0, 1}));
    StepMicrobatches microbatches{{{{StepValue(small.input())}, {}}}, {small.target()}};
    LossFunction loss = SmallPipeline::loss;
    Keywords none;
    std::uint64_t drawn = default_generator().stream;
    std::vector<EventKind> kinds;
    stage.begin_call(true);
    {
      ObserverScope observer([&](const Event& event) { kinds.push_back(event.kind); });
      infer_metas(stages, {microbatches, loss, none, true, true});
    }
    EXPECT_EQ(default_generator().stream, drawn);
    EXPECT_EQ(kinds.front(), EventKind::preconnect);
    TensorMeta between{Shape{2, 3}, DType::float64, true};
    if (index == 1)
      EXPECT_EQ(*stage.metas().inputs, TensorMetas{between});
    else
      EXPECT_EQ((*stage.metas().output_grads)[0], (TensorMeta{Shape{2, 3}, DType::float64, false}));
    Posts posts(stages, SendMode::rendezvous);
    Action action{index, index == 0 ? ActionKind::recv_b : ActionKind::recv_f, 0};
    EXPECT_FALSE(posts.is_posted(action));
    EXPECT_TRUE(posts.pending().empty());
  });
}

}  // namespace
}  // namespace simmesh::pipeline
