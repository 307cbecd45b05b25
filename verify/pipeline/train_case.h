#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/runtime/schedule.h"
#include "training/training.h"
#include "verify/case_tensor.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// PipelineStep is one step of a program of a pipeline. Names and meanings are those of
// tests/cases/pipeline/README.md.
struct PipelineStep {
  std::string act;
  std::int64_t batch = 0;
  std::string bad;
  bool has_target = true, passes_losses = true, return_outputs = true, finalize = true;
  bool no_grad = false, pre_split = false;
  std::optional<std::int64_t> pre_split_count, batch_size;
  bool records_grads = false;
  double loss_scale = 1.0;
  bool has_loss_scale = false;
};

// GivenTensor is an example of a tensor, or what is given in its place: a number or nothing.
struct GivenTensor {
  std::optional<pipeline::TensorMeta> meta;
  std::optional<std::int64_t> number;
};

// PipelineCase is a pipeline and what is run on it.
struct PipelineCase {
  struct Given {
    std::optional<std::vector<GivenTensor>> inputs, outputs;
  };
  struct Keyword {
    std::optional<CaseTensor> tensor;
    double value = 0.0;
    bool is_cut = true;
  };

  std::int64_t world = 1, pipeline_ranks = 1, data_ranks = 1;
  TrainingModel model;
  std::vector<std::vector<std::string>> stages;
  std::vector<std::int64_t> stage_to_rank;
  std::optional<std::vector<std::vector<std::int64_t>>> stages_of_rank;
  std::map<std::int64_t, std::int64_t> stage_index;
  std::string schedule, csv, format;
  std::int64_t microbatches = 1;
  bool scale_grads = true;
  pipeline::ScheduleOptions options;
  std::optional<std::vector<pipeline::ChunkDim>> args_chunk;
  std::optional<std::map<std::string, pipeline::ChunkDim>> kwargs_chunk;
  std::optional<std::vector<std::int64_t>> output_merge;
  std::map<std::int64_t, Given> given;
  std::map<std::int64_t, std::string> gain;
  std::map<std::string, Keyword> kwargs;
  std::string data_parallel;
  std::optional<bool> reshard_after_forward;
  bool debug_detail = false;
  CaseTensor input;
  bool input_requires_grad = false;
  std::optional<CaseTensor> target;
  std::uint64_t step_seed = 0;
  std::string loss;  // empty: none
  std::optional<OptimizerSpec> optimizer;
  std::vector<PipelineStep> program;

  // stages_on returns the stages that a rank of the pipeline builds.
  std::vector<std::int64_t> stages_on(std::int64_t rank) const;
};

// pipeline_case_fields are the fields that read_pipeline_case reads, with further ones, and with
// the fields of results of each step of the program.
schema::Fields pipeline_case_fields(schema::Fields own, schema::Fields step_results);

// read_pipeline_case reads them. Raises a BadCase for more than a case may compute.
PipelineCase read_pipeline_case(const RecordedCase& recorded);

}  // namespace simmesh
