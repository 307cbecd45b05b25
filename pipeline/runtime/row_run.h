#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "pipeline/runtime/step_run.h"
#include "pipeline/schedule/row.h"

namespace simmesh::pipeline {

// ShardedStages is what a rank knows, from one call to the next, of the parameters of its stages
// under fully_shard.
struct ShardedStages {
  std::map<std::int64_t, std::vector<fsdp::UnshardHandle>> gathering;
  std::set<std::int64_t> whole;
  std::set<std::int64_t> deferred;   // left whole for a later call
  std::set<std::int64_t> finalized;  // reduced and sharded in this call
};

// RowRun runs a row of actions from first to last, as PyTorch's runtime of schedules does.
class RowRun {
 public:
  struct Options {
    std::int64_t microbatches;
    bool finalize_gradients;
  };

  RowRun(const StageSet& stages, StepRun& step, ShardedStages& sharded, const Options& options)
      : stages_(stages), step_(step), sharded_(sharded), options_(options) {}

  // run raises an AssertionError for an action whose input was never received, for a send that
  // nothing waits for, and for computing on a stage whose parameters are cut.
  void run(const Row& row);

 private:
  void perform(const Action& action);
  void compute(const Action& action);
  void await_input(const Action& action, ActionKind receive, std::int64_t source);
  void await_parameters(PipelineStage& stage);
  void unshard(PipelineStage& stage);
  void reshard(PipelineStage& stage);
  void reduce(PipelineStage& stage);
  void await_reduction(PipelineStage& stage);
  bool counts_as_last(std::int64_t stage);

  const StageSet& stages_;
  StepRun& step_;
  ShardedStages& sharded_;
  Options options_;
  std::map<std::int64_t, std::int64_t> backwards_;
};

}  // namespace simmesh::pipeline
