#pragma once

#include <string>

#include "core/nn/model_node.h"
#include "gate/tables/keys.h"
#include "gate/tables/mesh.h"
#include "training/tensor_form.h"

namespace simmesh {

// GateTensor is parallel.tensor: layers are spread over one dim of the mesh, whose ranks take the
// same rows.
struct GateTensor {
  std::string mesh;
  TensorForm form;
};

// TensorUse has the values of the rest of the gate on which the key depends. Experts that stay
// whole are spread over tensor's own dim, or their key says so.
struct TensorUse {
  const GateLayout& layout;
  const nn::ModelNode& model;
  std::string expert_dim = {};  // empty without parallel.expert
  bool splits_experts = true;
};

// read_gate_tensor reads the key for a model on a mesh. Rejects a dim that doesn't exist, a model
// without attention and perceptrons, heads or columns that the dim doesn't divide, and with
// sequence_parallel a model without blocks.
GateTensor read_gate_tensor(GateTable& table, const TensorUse& use);

// tensor_entry returns the key as TOML that reads as the same.
std::string tensor_entry(const GateTensor& tensor);

}  // namespace simmesh
