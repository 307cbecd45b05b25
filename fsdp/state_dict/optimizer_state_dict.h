#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "core/optim/optimizer.h"

namespace simmesh::fsdp {

// OptimizerStateDict is an optimiser's state by the model's names for its parameters, so that
// another run can load it, whatever its order and sharding.
struct OptimizerStateDict {
  // Entry is the state of one parameter: its optimiser's tensors by key, such as "exp_avg".
  struct Entry {
    std::string parameter;
    double learning_rate = 0;
    // Empty before the parameter's first step.
    std::map<std::string, Tensor> tensors = {};
    std::int64_t steps = 0;
  };
  std::vector<Entry> entries;  // in the order of the model's parameters
};

// GetOptimizerStateOptions are those of PyTorch's get_optimizer_state_dict.
struct GetOptimizerStateOptions {
  // Gathers tensors whole, by collectives among all ranks; otherwise they are DTensors that alias
  // the optimiser's state.
  bool full_state_dict = false;
  // Tensors are copied to the memory of the host, which the rank's ledger doesn't count. Whole ones
  // are then kept on rank 0 alone; the other ranks get an empty state dict.
  bool cpu_offload = false;
};

// get_optimizer_state_dict returns the state of an optimiser of the model's parameters, sharded or
// not. Groups give up their gathered parameters first.
OptimizerStateDict get_optimizer_state_dict(nn::Module& model, const optim::Optimizer& optimizer,
                                            const GetOptimizerStateOptions& options = {});

// SetOptimizerStateOptions are those of PyTorch's set_optimizer_state_dict.
struct SetOptimizerStateOptions {
  // Only rank 0 of the world has the state dict, of whole tensors; see LoadOptions.
  bool broadcast_from_rank0 = false;
};

// set_optimizer_state_dict replaces the state of all of an optimiser's parameters, and the learning
// rates of its groups. Tensors may be DTensors of any placements, or whole: each rank takes its
// part, in memory of its own. Raises a RuntimeError for a parameter that the state dict doesn't
// have, one that the optimiser doesn't have, and unequal learning rates in one group.
void set_optimizer_state_dict(nn::Module& model, optim::Optimizer& optimizer,
                              const OptimizerStateDict& state,
                              const SetOptimizerStateOptions& options = {});

// flattened returns one tensor for each key, as PyTorch's flatten_optimizer_state_dict: those of
// "state.layers.0.weight.exp_avg", and without dims "state.layers.0.weight.step" (int64) and
// "param_groups.layers.0.weight.lr" (float64). unflattened is its inverse; raises a ValueError for
// other keys.
nn::StateDict flattened(const OptimizerStateDict& state);
OptimizerStateDict unflattened(const nn::StateDict& flat);

}  // namespace simmesh::fsdp
