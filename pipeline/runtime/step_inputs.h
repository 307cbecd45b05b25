#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/chunks/split.h"
#include "pipeline/stage/stage_options.h"

namespace simmesh::pipeline {

// ChunkDims say along which dim each argument is cut; empty for one that every micro-batch gets.
using ChunkDim = std::optional<std::int64_t>;
struct ChunkDims {
  std::optional<std::vector<ChunkDim>> args = {};
  std::optional<std::map<std::string, ChunkDim>> kwargs = {};
};

// StepInputs are the arguments of one call of a schedule, of the whole batch, or already cut into
// micro-batches. Positional ones are only given on the rank of the first stage, targets on that of
// the last one, keywords on any rank, for all of its stages.
struct StepInputs {
  std::vector<StepValue> args = {};
  Keywords kwargs = {};
  std::optional<Tensor> target = {};
  std::optional<std::vector<std::vector<StepValue>>> arg_mbs = {};
  std::optional<std::vector<Keywords>> kwarg_mbs = {};
  std::optional<std::vector<Tensor>> target_mbs = {};
  Keywords loss_kwargs = {};
  // Gets one loss a micro-batch, on the rank of the last stage.
  std::vector<Tensor>* losses = nullptr;
  bool return_outputs = true;
  // false leaves the gradients of sharded stages unreduced, and their parameters whole, for a later
  // call.
  bool finalize_gradients = true;
};

// StepMicrobatches are the inputs of a call by micro-batch. Without targets there are none.
struct StepMicrobatches {
  std::vector<MicrobatchArguments> arguments;
  std::vector<Tensor> targets;
};

// cut_inputs cuts the batch into micro-batches, or checks those that are given. Raises a ValueError
// where there are others than `count`, and where whole and cut inputs are mixed; an AssertionError
// for chunk dims of other arguments than the given ones, and for a target with fewer rows.
StepMicrobatches cut_inputs(const StepInputs& inputs, const ChunkDims& dims, std::int64_t count);

}  // namespace simmesh::pipeline
