#pragma once

#include <map>
#include <string>
#include <vector>

#include "sharding/api/dtensor_clip.h"
#include "training/training.h"

namespace simmesh {

// SpreadParameters are the parameters of a model that only one rank of a group has each, such as
// those of experts. Each rank has other ones, maybe none. The class knows which of a model's
// parameters are this rank's own, and gathers the reports of all ranks.
class SpreadParameters {
 public:
  // Spread is true for parameters that are spread, by their dotted paths; the model is still whole.
  using Spread = std::function<bool(const std::string& path)>;
  SpreadParameters(nn::Module& model, const Spread& is_spread, const ProcessGroup& group);

  // own returns the parameters that this rank has, as they are now.
  OwnParameters own(nn::Module& model) const;

  // complete takes this rank's tensors for some or all parameters, each named like its parameter,
  // or like it with a dot and one more word, as a state of the optimiser is. Returns those of all
  // ranks, in the order of the whole model's parameters: all ranks of the group call it, and get
  // the same list. Tensors that aren't spread must be the same on all of them. Each spread tensor
  // is broadcast by its owner, into host memory.
  std::vector<nn::NamedTensor> complete(const std::vector<nn::NamedTensor>& tensors) const;

 private:
  struct Place {
    std::size_t index;
    bool is_spread;
  };
  const Place& place_of(const std::string& name) const;

  ProcessGroup group_;
  std::map<std::string, Place> places_;  // by the path of a parameter
};

}  // namespace simmesh
