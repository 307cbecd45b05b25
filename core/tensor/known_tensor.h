#pragma once

#include "core/engine/spread/world_spread.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// share_tensor is known_tensor in a program that is spread over processes.
Tensor share_tensor(const Tensor& tensor, std::string_view name);

// known_same_bits is same_bits, told by the owner of the rank that calls it.
bool known_same_bits(const Tensor& a, const Tensor& b);

// take_elements gives a tensor without elements the bytes of another one. It is contiguous and the
// whole of its storage.
void take_elements(const Tensor& tensor, const Tensor& from);

// known_tensor returns a tensor whose elements the program goes on by: the tensor itself, except in
// a run that is spread over processes. There its elements come from the owner of its rank, which
// sends them to all processes, and where the rank is a ghost they are in a tensor that is charged
// to nobody. All processes call it at the same place; `name` is for the error if they don't. It may
// be called after the run too, for a tensor that a rank left.
inline Tensor known_tensor(const Tensor& tensor, std::string_view name) {
  if (!WorldSpread::active()) [[likely]]
    return tensor;
  return share_tensor(tensor, name);
}

// make_known does the same in place: where the rank is a ghost, the tensor gets its elements, and
// what the tensor is charged stays. Later writes by operators would raise there, so it is for
// tensors that stay as they are, such as the choices of a router.
inline void make_known(const Tensor& tensor, std::string_view name) {
  if (!WorldSpread::active()) [[likely]]
    return;
  Tensor known = share_tensor(tensor, name);
  if (!tensor.has_elements() && known.has_elements()) take_elements(tensor, known);
}

}  // namespace simmesh
