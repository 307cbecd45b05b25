#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/engine/world.h"
#include "gate/file.h"
#include "training/pipelined/train_pipeline.h"
#include "training/training.h"
#include "training/zero_form.h"

namespace simmesh {

// GateTask is the training of a gate: the model with its values, the plan of its sharding, and the
// data of all steps. It is made once, outside any World, and the ranks of any number of Worlds read
// it.
struct GateTask {
  TrainingTask training;
  FsdpPlan plan;  // without a mesh if nothing is sharded
  std::optional<PipelinePlan> pipeline = {};
  std::vector<FsdpPlan> stage_plans = {};  // of each stage
};

// gate_task makes the task of a gate. A micro-batch has the rows that the chunk rule gives it (see
// chunk_of), and its loss is divided by the number of terms of the whole step.
GateTask gate_task(const GateFile& gate);

// train_on_mesh trains on this rank as the gate's table [parallel] says. All ranks of its World
// call it. The form's own callbacks are kept; prepare runs last, on the sharded model. With ZeRO,
// at_memory gets the bytes that the engine holds (see ZeroForm).
TrainingResult train_on_mesh(const GateFile& gate, const GateTask& task, ParallelForm form = {},
                             const AtZeroMemory& at_memory = {});

}  // namespace simmesh
