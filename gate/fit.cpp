#include "gate/fit.h"

#include "core/check/error.h"
#include "core/tensor/chunk.h"

namespace simmesh {

bool gives_rows(const CutRows& cut) {
  auto last_rows = [](std::int64_t size, std::int64_t among) {
    return chunk_of({.size = size, .parts = among, .index = among - 1}).length;
  };
  std::int64_t smallest = last_rows(cut.batch, cut.micro_batches);
  return smallest > 0 && last_rows(smallest, cut.parts) > 0;
}

bool divides_positions(std::int64_t positions, const GateParallel& parallel,
                       const GateLayout& layout) {
  if (!parallel.tensor || !parallel.tensor->form.sequence_parallel) return true;
  std::int64_t ranks = layout.shape[layout.index_of(parallel.tensor->mesh)];
  if (!parallel.context) return positions % ranks == 0;
  SequenceSplit split{positions, layout.shape[layout.index_of(parallel.context->mesh)],
                      parallel.context->style.order};
  for (std::int64_t rank = 0; rank < split.ranks; ++rank)
    if (split.length_of(rank) % ranks != 0) return false;
  return true;
}

PipelineUse pipeline_use_of(const StagedRun& run, const GateParallel& parallel,
                            const GateLayout& layout) {
  DType sent = run.model.dtype;
  if (parallel.fsdp) {
    const fsdp::MixedPrecisionPolicy& policy = parallel.fsdp->mp_policy;
    sent = policy.output_dtype.value_or(policy.param_dtype.value_or(sent));
  }
  return {.model = run.node,
          .ranks = layout.shape[layout.index_of(parallel.pipeline->mesh)],
          .micro_batches = run.train.micro_batches,
          .row = run.data.input,
          .has_tokens = run.data.vocabulary > 0,
          .dtype = run.model.dtype,
          .sent_dtype = sent};
}

std::string why_no_pipeline(const StagedRun& run, const GateParallel& parallel,
                            const GateLayout& layout) {
  if (!parallel.pipeline) return "";
  try {
    pipeline_plan(*parallel.pipeline, pipeline_use_of(run, parallel, layout));
  } catch (const Error& error) {
    return std::string(error.message());
  }
  return "";
}

}  // namespace simmesh
