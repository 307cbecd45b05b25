#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectives/process_group.h"
#include "core/nn/module.h"
#include "ddp/replicate.h"
#include "pipeline/chunks/split.h"

namespace simmesh::pipeline {

// Keywords are arguments by name.
using Keywords = std::map<std::string, StepValue>;

// StageForward computes the outputs of a stage. Without one, the module is called with the inputs.
//
//   pipeline::StageForward scaled = [](nn::Module& module, const nn::Tensors& in,
//                                      const pipeline::Keywords& names) {
//     return module.call({mul(in[0], std::get<Tensor>(names.at("scale")))});
//   };
using StageForward = std::function<nn::Tensors(nn::Module& module, const nn::Tensors& inputs,
                                               const Keywords& keywords)>;

// LossFunction computes the loss of a micro-batch, of one element, from the outputs of the last
// stage.
using LossFunction = std::function<Tensor(const nn::Tensors& outputs, const Tensor& target,
                                          const Keywords& keywords)>;

// PipelineStageInfo names one forward of a stage.
struct PipelineStageInfo {
  std::int64_t stage_index;
  std::int64_t microbatch_index;
  bool is_metadata_inference = false;  // the forward only finds out shapes
};

// ForwardContext is called around every forward of a stage, and must call `forward`, whose errors
// it must let pass.
using ForwardContext =
    std::function<void(const PipelineStageInfo& info, const std::function<void()>& forward)>;

// WeightBuilder is for stages that compute the gradients of their weights by themselves: it is
// called after each backward of the inputs, and what it returns computes those of the weights.
using WeightBuilder = std::function<std::function<void()>()>;

// StageOptions say which stage of a pipeline a module is.
struct StageOptions {
  std::int64_t stage_index = 0;
  std::int64_t num_stages = 1;
  // The ranks of the pipeline, which is the world by default.
  std::optional<ProcessGroup> group = {};
  // Examples of a micro-batch's inputs and outputs. If all stages of a pipeline have both, nothing
  // is run to find out shapes; else they are only compared.
  std::optional<std::vector<StepValue>> input_args = {};
  std::optional<std::vector<StepValue>> output_args = {};
  StageForward forward = {};
  // The replication of the module, where `replicate` was called for it. Its gradients are summed
  // after the last backward of a call.
  std::optional<Replication> replication = {};
  WeightBuilder dw_builder = {};
  // Compares each tensor between stages with what is expected, as PyTorch does at the debug level
  // DETAIL.
  bool validates_tensors = false;
};

}  // namespace simmesh::pipeline
