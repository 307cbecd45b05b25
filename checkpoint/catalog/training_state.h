#pragma once

#include <string>
#include <vector>

#include "checkpoint/catalog/state_dict.h"
#include "core/nn/module.h"
#include "core/optim/learning_rate.h"
#include "core/optim/optimizer.h"
#include "zero/engine/engine.h"

namespace simmesh::checkpoint {

// named_buffers returns the buffers of a model, by their dotted names.
std::vector<nn::NamedTensor> named_buffers(nn::Module& model);

// state_dict returns the state of a training run: a model's parameters and buffers under "model.",
// the optimiser's tensors under "optim.PARAMETER.", the number of steps, and the learning rates.
// Names and shapes don't depend on the form of the run. So any other form can load them: one
// device, replicate, fully_shard, tensor parallelism, or ZeRO.
//
// Tensors are those of the model and of the optimiser, which a load fills. State that the optimiser
// doesn't have yet is made. Groups of fully_shard reshard first. Tied parameters come once, under
// their first name. The model and the optimiser must outlive the state dict.
//
// The random state and a scheduler are added with add_random_state and add_scheduler.
StateDict state_dict(nn::Module& model, optim::Optimizer& optimizer);

// state_dict of an engine has the same names. It has the master of each trained parameter. For a
// 16-bit parameter, which is rebuilt from its master, "master.NAME" stands in place of "model.NAME"
// (see master_statements). It also has the state of the loss scaler and of the scheduler, if the
// engine has them. All members of the engine's group call it. After a load, call
// engine.masters_changed().
StateDict state_dict(zero::Engine& engine);

// add_scheduler adds the steps of a scheduler and its base rates under the name "scheduler". A load
// sets the optimiser's rates by them. The scheduler must outlive the state dict.
void add_scheduler(StateDict& state, optim::Scheduler& scheduler);

}  // namespace simmesh::checkpoint
