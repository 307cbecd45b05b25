#include "pipeline/runtime/stage_set.h"

#include "core/check/error.h"

namespace simmesh::pipeline {

StageSet::StageSet(std::vector<PipelineStage*> stages, StageMap map)
    : local_(std::move(stages)), map_(std::move(map)) {
  if (local_.empty())
    raise(ErrorKind::value_error, "pipeline/schedule", "expected at least one stage, got none");
  for (const PipelineStage* stage : local_)
    if (stage->group().members() != group().members() || stage->num_stages() != num_stages())
      raise(ErrorKind::value_error, "pipeline/schedule",
            "all local pipeline stages must share one PP group and one number of stages");
}

bool StageSet::crosses_ranks() const {
  for (std::int64_t stage = 1; stage < num_stages(); ++stage)
    if (map_.rank_of(stage) != map_.rank_of(stage - 1)) return true;
  return false;
}

PipelineStage* StageSet::find(std::int64_t stage) const {
  for (PipelineStage* local : local_)
    if (local->stage_index() == stage) return local;
  return nullptr;
}

PipelineStage& StageSet::at(std::int64_t stage) const {
  if (PipelineStage* local = find(stage)) return *local;
  raise(ErrorKind::key_error, "pipeline/schedule",
        "expected a stage of rank {} of the pipeline, got stage {}", group().rank(), stage);
}

}  // namespace simmesh::pipeline
