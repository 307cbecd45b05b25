#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/ranks/rank.h"
#include "core/optim/optimizer.h"
#include "verify/pipeline/train_case.h"

namespace simmesh {

// PipelineStepRecord is what one rank has seen of a step. Tensors are whole.
struct PipelineStepRecord {
  std::vector<Tensor> losses;
  std::optional<Tensor> output;
  std::optional<Tensor> input_grad;
  std::vector<nn::NamedTensor> grads;  // undefined for none
  nlohmann::json events = nlohmann::json::array();
  std::vector<Tensor> sent;  // by the messages in the events
};

// PipelineRecord is what one rank has seen of a program.
struct PipelineRecord {
  std::vector<PipelineStepRecord> steps;
  std::vector<nn::NamedTensor> final;
  std::vector<std::pair<std::int64_t, std::size_t>> peak_states;  // by stage
};

// PipelineRank runs the program of a case on one rank.
class PipelineRank {
 public:
  // Events of messages have the hash of what is sent with `hashes`.
  PipelineRank(const PipelineCase& plan, const Rank& rank, bool hashes);
  ~PipelineRank();

  // build makes the stages, and then make_schedule their schedule.
  void build();
  void make_schedule();
  PipelineStepRecord run(const PipelineStep& step);
  // finish returns parameters, buffers and peaks.
  void finish(PipelineRecord& record);

 private:
  struct Parts;

  nlohmann::json call(const PipelineStep& step, PipelineStepRecord& record);
  pipeline::StepInputs inputs_of(const PipelineStep& step, PipelineStepRecord& record);
  void add_arguments(const PipelineStep& step, pipeline::StepInputs& inputs);
  void register_context(bool hides);

  std::unique_ptr<Parts> parts_;
};

}  // namespace simmesh
