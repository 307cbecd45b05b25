#pragma once

#include "core/nn/module.h"
#include "core/tensor/dtype.h"

namespace simmesh::fsdp {

// state_dict returns a model's parameters and buffers by name. Groups give up their gathered
// parameters first; values are DTensors whose local parts alias the live shards, so a state dict
// that is kept shows later steps too. No communication.
nn::StateDict state_dict(nn::Module& model);

// full_state_dict gathers each value whole: collectives among all ranks.
nn::StateDict full_state_dict(nn::Module& model);

// LoadOptions are the options of a load.
struct LoadOptions {
  // Values become the parameters instead of being copied into them.
  bool assign = false;
  // Missing and unexpected names are errors.
  bool strict = true;
  // Only rank 0 of the world has the state dict, of whole tensors, and broadcasts it tensor by
  // tensor; the other ranks' arguments are ignored. Costs a collective among all ranks for the
  // names, and one for each parameter and buffer.
  bool broadcast_from_rank0 = false;
};

// load_state_dict takes values from DTensors, which it redistributes to the placements of the
// parameters, or from whole tensors, of which each rank takes its part. Raises a RuntimeError for
// names and shapes that don't fit.
void load_state_dict(nn::Module& model, const nn::StateDict& state,
                     const LoadOptions& options = {});

// to converts floating parameters and buffers; to_empty gives all of them, also those of the meta
// device, storage of undefined content; cpu changes nothing. Each gives up gathered parameters and
// reads the shards again.
void to(nn::Module& model, DType dtype);
void to_empty(nn::Module& model);
void cpu(nn::Module& model);

}  // namespace simmesh::fsdp
