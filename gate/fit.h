#pragma once

#include <string>

#include "gate/tables/model.h"
#include "gate/tables/parallel.h"
#include "gate/tables/train.h"

namespace simmesh {

// gives_rows is true if each rank gets rows in each micro-batch of a step of some rows, which are
// cut over that many parts.
struct CutRows {
  std::int64_t batch;
  std::int64_t micro_batches;
  std::int64_t parts;
};
bool gives_rows(const CutRows& cut);

// divides_positions is true unless tensor.sequence_parallel cuts the positions that a rank has, of
// sequences of that length, into unequal parts.
bool divides_positions(std::int64_t positions, const GateParallel& parallel,
                       const GateLayout& layout);

// StagedRun has the parts of a gate on which a pipeline depends.
struct StagedRun {
  const GateModel& model;
  const GateData& data;
  const GateTrain& train;
  const nn::ModelNode& node;
};

// pipeline_use_of returns their values for a pipeline on a mesh.
PipelineUse pipeline_use_of(const StagedRun& run, const GateParallel& parallel,
                            const GateLayout& layout);

// why_no_pipeline returns why a pipeline can't run: its schedule doesn't take the number of stages
// or micro-batches. Empty for one that can, and without one.
std::string why_no_pipeline(const StagedRun& run, const GateParallel& parallel,
                            const GateLayout& layout);

}  // namespace simmesh
