#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectives/process_group.h"
#include "pipeline/schedule/stage_map.h"
#include "training/pipeline_ranks.h"
#include "training/pipelined/rank_stages.h"

namespace simmesh {

// StageRanks know which rank has what of a model that is cut into stages, and keep tied parameters
// equal.
class StageRanks final : public PipelineRanks {
 public:
  // Parts outlive it. `experts` are the ranks that have different experts of any stage, if experts
  // are spread.
  struct Parts {
    const StagePlan& plan;
    const TrainingModel& model;
    pipeline::StageMap map;
    ProcessGroup group;
    std::optional<ProcessGroup> experts = {};
  };
  explicit StageRanks(const Parts& parts);

  bool counts(const std::string& name) const override;
  std::vector<Tensor> counted(nn::Module& model) const override;
  std::vector<OwnParameters> own(nn::Module& model,
                                 const std::vector<Tensor>& experts) const override;
  std::vector<nn::NamedTensor> complete(const std::vector<nn::NamedTensor>& own) const override;
  Tensor sum(const Tensor& value) const override;

  // add_tied adds up the gradients of tied parameters over their stages, after the last backward
  // pass of a step. All ranks call it.
  void add_tied(nn::Module& model) const;

  // from_last returns the tensor of the rank of the last stage. The others pass one of its shape.
  Tensor from_last(const Tensor& value) const;

 private:
  void add_tied(nn::Module& model, const TiedCopy& tied) const;
  bool has(const std::string& name) const;

  Parts parts_;
  std::vector<TiedCopy> copies_;
};

}  // namespace simmesh
