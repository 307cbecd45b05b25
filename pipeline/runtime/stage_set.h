#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/schedule/stage_map.h"
#include "pipeline/stage/stage.h"

namespace simmesh::pipeline {

// StageSet is the stages that one rank of a pipeline holds, in the order in which they were given,
// and the rank of every stage.
class StageSet {
 public:
  // Raises a ValueError without stages, and for stages of different groups.
  StageSet(std::vector<PipelineStage*> stages, StageMap map);

  const std::vector<PipelineStage*>& local() const { return local_; }
  const StageMap& map() const { return map_; }
  const ProcessGroup& group() const { return local_.front()->group(); }
  std::int64_t num_stages() const { return local_.front()->num_stages(); }
  bool crosses_ranks() const;

  // at raises a KeyError for a stage that this rank doesn't hold; find returns null.
  PipelineStage& at(std::int64_t stage) const;
  PipelineStage* find(std::int64_t stage) const;
  // last returns the last stage of the pipeline, null on ranks that don't hold it.
  PipelineStage* last() const { return find(num_stages() - 1); }

 private:
  std::vector<PipelineStage*> local_;
  StageMap map_;
};

}  // namespace simmesh::pipeline
