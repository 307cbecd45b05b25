#pragma once

#include <string>
#include <vector>

#include "core/nn/module.h"
#include "sharding/api/dtensor_clip.h"

namespace simmesh {

// PipelineRanks are the ranks of a pipeline, each of which has some stages of the model, as an
// engine sees them. Methods take the model that has all stages of this rank.
class PipelineRanks {
 public:
  virtual ~PipelineRanks() = default;

  // counts is false for a tied parameter that another stage has too: the original counts in norms
  // and is reported, and not its copies.
  virtual bool counts(const std::string& name) const = 0;
  // counted returns the parameters that count.
  virtual std::vector<Tensor> counted(nn::Module& model) const = 0;
  // own returns them by the ranks between which they differ. `experts` are those that are spread.
  virtual std::vector<OwnParameters> own(nn::Module& model,
                                         const std::vector<Tensor>& experts) const = 0;

  // complete takes this rank's tensors, named like its modules or parameters, or with one more word
  // after that, and returns those of all stages, in the order of the model. All ranks call it.
  // Copies of tied parameters are left out.
  virtual std::vector<nn::NamedTensor> complete(const std::vector<nn::NamedTensor>& own) const = 0;

  // sum adds up unrounded sums over the ranks. All ranks call it.
  virtual Tensor sum(const Tensor& value) const = 0;
};

}  // namespace simmesh
