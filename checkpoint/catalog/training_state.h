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

// state_dict returns what a training run has to remember: a model's parameters and buffers under
// "model.", the optimiser's tensors under "optim.PARAMETER.", with the number of steps, and the
// learning rates. Names and shapes don't depend on how the run is spread over ranks, so a run of
// another form can load them: on one device, replicated, sharded by fully_shard, spread over ranks
// by styles, or under ZeRO.
//
// Tensors are those of the model and of the optimiser, which a load fills; state that the optimiser
// hasn't made yet is made. Groups of fully_shard give up what they gathered first. Tied parameters
// come once, under their first name. The model and the optimiser must outlive the state dict.
//
// The random state and a scheduler are added with add_random_state and add_scheduler.
StateDict state_dict(nn::Module& model, optim::Optimizer& optimizer);

// state_dict of an engine has the same names. Of each trained parameter it has the master: of
// 16-bit parameters, which are rebuilt from masters, that is "master.NAME" in place of
// "model.NAME" (see master_statements). After a load, call engine.masters_changed(). Has the state
// of the loss scale and of the scheduler too, where the engine has them. All members of the
// engine's group call it.
StateDict state_dict(zero::Engine& engine);

// add_scheduler adds the steps of a scheduler and the rates that its factors multiply, under the
// name "scheduler"; a load sets the optimiser's rates by them. It must outlive the state dict.
void add_scheduler(StateDict& state, optim::Scheduler& scheduler);

}  // namespace simmesh::checkpoint
