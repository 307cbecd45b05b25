#pragma once

#include "core/engine/spread/spread.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// share_tensor is known_tensor in a program that is spread over processes.
Tensor share_tensor(const Tensor& tensor, std::string_view name);

// known_tensor returns a tensor whose elements the program goes on by: the tensor itself, except in
// a run that is spread over processes. There its elements come from the owner of its rank, which
// sends them to all processes, and where the rank is a ghost they are in a tensor that is charged
// to nobody. All processes call it at the same place; `name` is for the error if they don't. It may
// be called after the run too, for a tensor that a rank left.
inline Tensor known_tensor(const Tensor& tensor, std::string_view name) {
  if (!Spread::active()) [[likely]]
    return tensor;
  return share_tensor(tensor, name);
}

}  // namespace simmesh
