#pragma once

#include <string>

#include "gate/tables/parallel.h"
#include "gate/tables/train.h"

namespace simmesh {

struct GateFile;

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

// pipeline_use_of returns the values on which the pipeline of a run depends.
PipelineUse pipeline_use_of(const GateFile& gate, const GateParallel& parallel,
                            const GateLayout& layout, const nn::ModelNode& model);

// why_no_pipeline returns why a pipeline can't run: its schedule doesn't take the number of stages
// or micro-batches. Empty for one that can, and without one.
std::string why_no_pipeline(const GateFile& gate, const GateParallel& parallel,
                            const GateLayout& layout, const nn::ModelNode& model);

}  // namespace simmesh
