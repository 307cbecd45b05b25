#pragma once

#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh::optim {

// Ema keeps an exponential moving average of parameters: average = decay * average + (1 - decay) *
// parameter, computed in the parameter's dtype (float32 for 16-bit ones) and rounded once.
class Ema {
 public:
  // The averages start at the parameters' values. Raises a ValueError for a decay outside [0, 1].
  Ema(const std::vector<Tensor>& parameters, double decay);

  // update adds the parameters' current values to the averages.
  void update();

  const std::vector<Tensor>& averages() const { return averages_; }
  // copy_to writes the averages into the parameters.
  void copy_to(std::vector<Tensor>& parameters) const;

 private:
  std::vector<Tensor> parameters_, averages_;
  double decay_;
};

}  // namespace simmesh::optim
