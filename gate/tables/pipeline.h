#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/model_node.h"
#include "gate/tables/keys.h"
#include "gate/tables/mesh.h"
#include "training/pipelined/train_pipeline.h"

namespace simmesh {

// GatePipeline is parallel.pipeline: the model is cut into stages by its blocks, which are spread
// over one dim of the mesh. Its ranks take the same rows.
struct GatePipeline {
  std::string mesh;
  // A class of schedules, or a file with its text and format.
  std::string schedule = "1F1B";
  std::string csv = {};
  std::string csv_format = "compute_only";
  std::int64_t stages = 1;           // a rank; 0: as many as the file has
  std::vector<std::int64_t> blocks;  // of each stage; empty: as evenly as they divide
  pipeline::SendMode sends = pipeline::SendMode::rendezvous;
  pipeline::ScheduleOptions options = {};

  bool is_file() const { return !csv.empty(); }
};

// pipeline_schedules returns the names of the schedules that train.
const std::vector<std::string>& pipeline_schedules();

// PipelineUse has the values of the rest of the gate on which a pipeline depends.
struct PipelineUse {
  const nn::ModelNode& model;
  std::int64_t ranks = 1;
  std::int64_t micro_batches = 1;
  Shape row = {};  // of the input
  bool has_tokens = false;
  DType dtype = DType::float32;  // of the model, and of what stages send to one another
  DType sent_dtype = DType::float32;
};

// read_gate_pipeline reads the key for a model on a mesh. Rejects a dim or a schedule that doesn't
// exist, a model without blocks to cut it by, one with dropout, and blocks that aren't those of the
// model.
GatePipeline read_gate_pipeline(GateTable& table, const GateLayout& layout,
                                const nn::ModelNode& model);

// pipeline_entry returns the key as TOML that reads as the same.
std::string pipeline_entry(const GatePipeline& pipeline);

// pipeline_plan cuts the model, and makes the schedule. Raises a ValueError, and errors of other
// kinds from a file, where the schedule doesn't take the number of stages or micro-batches.
PipelinePlan pipeline_plan(const GatePipeline& pipeline, const PipelineUse& use);

}  // namespace simmesh
