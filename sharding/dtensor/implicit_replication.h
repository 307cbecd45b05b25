#pragma once

namespace simmesh {

// ImplicitReplication lets ops in its scope mix plain tensors with distributed ones: a plain tensor
// counts as replicated, and the caller promises that it is.
//
//   ImplicitReplication scope;
//   Tensor y = x + bias;   // x is distributed, every rank has the same bias
class ImplicitReplication {
 public:
  ImplicitReplication();
  ~ImplicitReplication();
  ImplicitReplication(const ImplicitReplication&) = delete;
  ImplicitReplication& operator=(const ImplicitReplication&) = delete;

  // is_on says whether this rank is in such a scope.
  static bool is_on();
};

}  // namespace simmesh
