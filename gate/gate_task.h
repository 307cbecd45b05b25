#pragma once

#include <functional>

#include "core/engine/world.h"
#include "gate/gate_file.h"
#include "training/training.h"

namespace simmesh {

// GateTask is what a gate trains: the model with its values, how it is sharded, and the data of all
// steps, made once outside of any World. Ranks of any number of Worlds read it.
struct GateTask {
  TrainingTask training;
  FsdpPlan plan;  // without a mesh where nothing is sharded
};

// gate_task makes it. Micro-batch m of a step has the rows that the chunk rule gives it (see
// chunk_of); its terms are divided by those of the whole step.
GateTask gate_task(const GateFile& gate);

// train_on_mesh trains on this rank as the gate's table [parallel] says: all ranks of its World
// call it. Callbacks of the form that are given are kept; prepare comes last, on the model as it is
// trained.
TrainingResult train_on_mesh(const GateFile& gate, const GateTask& task, ParallelForm form = {});

}  // namespace simmesh
