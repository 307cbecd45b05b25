#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "core/optim/sgd.h"
#include "fsdp/fully_shard.h"
#include "mesh/device_mesh.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/pipeline/small_pipeline.h"
#include "zero/engine/engine.h"

// Stages that are data parallel inside: under HSDP, and with ZeRO 1.
namespace simmesh::pipeline {
namespace {

using simmesh::testing::add_gradients;
using simmesh::testing::Gradients;
using simmesh::testing::gradients_of_one_device;
using simmesh::testing::SmallPipeline;

// DataParallelStages are the stages of one rank of a mesh whose first dim is the pipeline. Each
// rank of the others takes an equal part of the rows.
class DataParallelStages {
 public:
  DataParallelStages(const SmallPipeline& small, ScheduleClass schedule, const DeviceMesh& mesh,
                     std::int64_t part, std::int64_t parts,
                     const std::function<void(nn::Module&)>& prepare)
      : small_(small), part_(part), parts_(parts) {
    ProcessGroup group = process_group(mesh, "pp");
    ScheduleShape shape{.ranks = group.size(),
                        .stages_per_rank = small.stages / group.size(),
                        .microbatches = small.microbatches};
    std::vector<PipelineStage*> stages;
    for (std::int64_t index : stage_map_of(schedule, shape).stages_of(group.rank())) {
      modules_.push_back(small.stage(index));
      prepare(*modules_.back());
      stages_.push_back(std::make_unique<PipelineStage>(
          *modules_.back(),
          StageOptions{.stage_index = index, .num_stages = small.stages, .group = group}));
      stages.push_back(stages_.back().get());
    }
    schedule_ = std::make_unique<PipelineSchedule>(schedule, stages, small.settings());
  }

  const std::vector<nn::ModulePtr>& modules() const { return modules_; }
  std::int64_t index(std::size_t i) const { return stages_[i]->stage_index(); }

  void step() {
    StepInputs inputs;
    std::vector<Tensor> losses;
    for (const auto& stage : stages_) {
      if (stage->is_first()) inputs.args = {rows_of(small_.input(1))};
      if (!stage->is_last()) continue;
      inputs.target = rows_of(small_.target(1));
      inputs.losses = &losses;
    }
    schedule_->step(inputs);
  }

 private:
  Tensor rows_of(const Tensor& batch) const {
    std::int64_t rows = batch.size(0) / parts_;
    return batch.narrow({0, part_ * rows, rows}).clone();
  }

  const SmallPipeline& small_;
  std::int64_t part_, parts_;
  std::vector<nn::ModulePtr> modules_;
  std::vector<std::unique_ptr<PipelineStage>> stages_;
  std::unique_ptr<PipelineSchedule> schedule_;
};

SmallPipeline pipeline_of(ScheduleClass schedule, std::int64_t parts) {
  return {.stages = is_single_stage(schedule) ? 2 : 4, .microbatches = 4, .rows = 8 * parts};
}

// Gathers the gradients of sharded parameters.
Gradients whole_gradients(nn::Module& module, std::int64_t stage) {
  Gradients gradients;
  add_gradients(module, stage, gradients);
  for (auto& [name, gradient] : gradients)
    if (gradient.distribution()) gradient = DTensor::of(gradient).full_tensor();
  return gradients;
}

// Sums of gradients over ranks need exact arithmetic.
void run_exactly(std::size_t ranks, const std::function<void(Rank&)>& body) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"}) {
    Outcome outcome = World({.ranks = ranks,
                             .schedule = Schedule::parse(schedule),
                             .arithmetic = Arithmetic::exact()})
                          .run(body);
    EXPECT_TRUE(outcome.ok()) << report(outcome);
    EXPECT_EQ(outcome.live_storages, 0);
  }
}

constexpr std::string_view all_but_forward[] = {
    "GPipe",         "1F1B",     "LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble",
    "ZBVZeroBubble", "DualPipeV"};

bool trains(ScheduleClass schedule) {
  return std::find(std::begin(all_but_forward), std::end(all_but_forward), to_string(schedule)) !=
         std::end(all_but_forward);
}

// If this fails, stages under HSDP reduce gradients once too often or not at all, or over other
// ranks: pipelines of 2 x 2 x 2 ranks don't train what one device trains.
TEST(ParallelStages, UnderHsdpTrainAsOneDevice) {
  for (ScheduleClass schedule : schedule_classes()) {
    if (!trains(schedule)) continue;
    for (const Shape& shape : {Shape{2, 2, 2}, Shape{2, 1, 2}, Shape{2, 3, 1}}) {
      std::int64_t parts = shape[1] * shape[2];
      SmallPipeline small = pipeline_of(schedule, parts);
      run_exactly(std::size_t(numel(shape)), [&](Rank& rank) {
        Gradients expected = gradients_of_one_device(small);
        DeviceMesh mesh = init_device_mesh(shape, {"pp", "replicate", "shard"});
        DeviceMesh data = mesh[DimNames({"replicate", "shard"})];
        DataParallelStages stages(small, schedule, mesh, std::int64_t(rank.id()) % parts, parts,
                                  [&](nn::Module& module) {
                                    fsdp::fully_shard(module, {.mesh = data});
                                    fsdp::FSDPModule(module).set_sums_gradients(true);
                                  });
        stages.step();
        for (std::size_t i = 0; i < stages.modules().size(); ++i)
          for (const auto& [name, gradient] :
               whole_gradients(*stages.modules()[i], stages.index(i)))
            EXPECT_TRUE(same_bits(gradient, expected.at(name)))
                << to_string(schedule) << " on " << simmesh::to_string(DimSpan(shape)) << ": "
                << name << " is " << simmesh::to_string(gradient) << ", expected "
                << simmesh::to_string(expected.at(name));
      });
    }
  }
}

// Returns the parameters of a stage on one device after a step.
nn::ModulePtr stepped_stage(const SmallPipeline& small, std::int64_t index,
                            const Gradients& gradients, const optim::SgdOptions& options) {
  nn::ModulePtr module = small.stage(index);
  for (auto& [name, parameter] : module->named_parameters())
    set_grad(parameter, gradients.at(std::to_string(index) + "." + name));
  optim::Sgd(module->parameters(), options).step();
  return module;
}

// If this fails, an engine of ZeRO 1 inside a stage loses micro-batches, or counts some twice. The
// schedule runs all backward passes, so they are one accumulation step, and the reduction is the
// next.
TEST(ParallelStages, WithZero1StepAsOneDevice) {
  const optim::SgdOptions options{.lr = 0.5, .momentum = 0.5};
  for (ScheduleClass schedule : schedule_classes()) {
    if (!trains(schedule)) continue;
    SmallPipeline small = pipeline_of(schedule, 2);
    small.dtype = DType::float32;
    run_exactly(4, [&](Rank& rank) {
      Gradients expected = gradients_of_one_device(small);
      DeviceMesh mesh = init_device_mesh({2, 2}, {"pp", "dp"});
      ProcessGroup group = process_group(mesh, "dp");
      DataParallelStages stages(small, schedule, mesh, std::int64_t(rank.id()) % 2, 2,
                                [](nn::Module&) {});
      zero::Config config;
      config.zero_optimization.stage = 1;
      config.gradient_accumulation_steps = 2;
      config.zero_allow_untested_optimizer = true;
      config.sum_gradients = true;
      config.gradient_clipping = 0.0;
      auto make_optimizer = [&](const std::vector<nn::NamedTensor>& masters) {
        std::vector<Tensor> parameters;
        for (const auto& [name, master] : masters) parameters.push_back(master);
        return std::make_unique<optim::Sgd>(parameters, options);
      };
      std::vector<std::unique_ptr<zero::Engine>> engines;
      for (const nn::ModulePtr& module : stages.modules())
        engines.push_back(std::make_unique<zero::Engine>(
            zero::initialize(*module, make_optimizer, config, group)));
      auto accumulate = [&](const std::function<void()>& passes) {
        for (auto& engine : engines) engine->before_backward();
        passes();
        for (auto& engine : engines) engine->after_backward();
        for (auto& engine : engines) engine->step();
      };
      accumulate([&] { stages.step(); });
      accumulate([] {});
      for (std::size_t i = 0; i < engines.size(); ++i) {
        EXPECT_TRUE(engines[i]->was_step_applied());
        nn::ModulePtr wanted = stepped_stage(small, stages.index(i), expected, options);
        for (const auto& [name, parameter] : stages.modules()[i]->named_parameters())
          EXPECT_TRUE(same_bits(parameter.detach(), wanted->find(name.substr(0, name.rfind('.')))
                                                        .parameter(name.substr(name.rfind('.') + 1))
                                                        .detach()))
              << to_string(schedule) << ": " << name << " of stage " << stages.index(i) << ": "
              << simmesh::to_string(parameter.detach()) << ", expected "
              << simmesh::to_string(wanted->find(name.substr(0, name.rfind('.')))
                                        .parameter(name.substr(name.rfind('.') + 1))
                                        .detach());
      }
    });
  }
}

}  // namespace
}  // namespace simmesh::pipeline
