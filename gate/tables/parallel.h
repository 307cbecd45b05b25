#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gate/tables/context.h"
#include "gate/tables/expert.h"
#include "gate/tables/fsdp.h"
#include "gate/tables/pipeline.h"
#include "gate/tables/tensor.h"
#include "gate/tables/zero.h"

namespace simmesh {

// GateReplicate is parallel.replicate: gradients are summed as DistributedDataParallel does.
struct GateReplicate {
  std::string mesh;  // the dim over which rows are cut
  std::int64_t bucket_bytes = std::int64_t(25) << 20;
  bool find_unused = false;
};

// GateParallel is the table [parallel]. It has at most one of replicate, fsdp and zero, together
// with any of context, tensor, expert and pipeline.
struct GateParallel {
  std::optional<GateReplicate> replicate;
  std::optional<GateFsdp> fsdp;
  std::optional<GateZero> zero;
  std::optional<GateContext> context;
  std::optional<GateTensor> tensor;
  std::optional<GateExpert> expert;
  std::optional<GatePipeline> pipeline;
  bool checkpoint_blocks = false;

  // row_dims returns the mesh dims over which the rows of a micro-batch are cut, and parts the
  // number of parts.
  std::vector<std::string> row_dims() const;
  std::int64_t parts(const GateLayout& layout) const;
  // form returns "single_device", "replicate", "fsdp", "zero0" to "zero3", "context", "tensor",
  // "expert" or "pipeline".
  std::string_view form() const;
  // has_schedule is true if a schedule fetches and releases parameters, as in ZeRO stage 3.
  bool has_schedule() const { return zero && zero->stage() == 3; }
};

// read_gate_parallel reads the table for a model on a mesh.
GateParallel read_gate_parallel(GateTable& table, const GateLayout& layout,
                                const nn::ModelNode& model);

// default_parallel returns the table with one form of parallelism at its defaults.
GateParallel default_parallel(std::string_view form, const GateLayout& layout,
                              const nn::ModelNode& model);

}  // namespace simmesh
