#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

// LocalPieces replaces the distributed parameters of a model by plain ones, each this rank's piece,
// so that code which knows plain tensors only, such as a ZeRO engine, can train them. While a
// module runs, its parameters are distributed again, and their gradients go to the pieces: as
// PyTorch does for DistributedDataParallel beside tensor parallelism. A parameter that is
// replicated gets its whole gradient on every rank.
//
//   LocalPieces pieces(model);                       // after parallelize
//   zero::Engine engine = zero::initialize(model, make_optimizer, config, group);
class LocalPieces {
 public:
  explicit LocalPieces(nn::Module& model);

  // is_cut is true for a parameter that was distributed.
  bool is_cut(const std::string& name) const { return specs_.count(name) > 0; }

  // counts is true if this rank counts a parameter's elements in a sum over all ranks of its mesh:
  // of ranks that have the same piece the first one does. True for a parameter that is plain.
  bool counts(const std::string& name) const;

  // whole returns a tensor of the whole parameter, given this rank's piece of it, such as its
  // gradient. All ranks of the mesh call it. A tensor of another shape than the piece, or of a
  // parameter that is plain, is returned as it is.
  Tensor whole(const std::string& name, const Tensor& piece) const;

 private:
  std::map<std::string, DTensorSpec> specs_;  // by the path of a parameter
};

}  // namespace simmesh
