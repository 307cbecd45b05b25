#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/catalog/training_state.h"
#include "checkpoint/paddle/fused_buffers.h"
#include "checkpoint/save_load/load.h"
#include "checkpoint/save_load/random_state.h"
#include "checkpoint/save_load/save.h"
#include "checkpoint/zero_cost/async_save.h"
#include "checkpoint/zero_cost/staged_state.h"
#include "checkpoint/zero_cost/zero_cost_saver.h"
#include "collectives/collectives.h"
#include "collectives/comm_debug_mode.h"
#include "collectives/functional_collectives.h"
#include "core/autograd/backward.h"
#include "core/engine/deputy.h"
#include "core/engine/ranks/annotation.h"
#include "core/engine/fibers/stack_arena.h"
#include "core/engine/world.h"
#include "core/gradients/families.h"
#include "core/nn/batch_rows.h"
#include "core/nn/containers.h"
#include "core/nn/init.h"
#include "core/nn/model_node.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/optim/adam.h"
#include "core/optim/sgd.h"
#include "fsdp/fully_shard.h"
#include "gate/tables/keys.h"
#include "replay/chakra/write_chakra.h"
#include "replay/job/job_groups.h"
#include "replay/job/missing_ranks.h"
#include "replay/job/trace_job.h"
#include "replay/memory/memory_plan.h"
#include "replay/read/json_extent.h"
#include "replay/read/json_stream.h"
#include "replay/read/read_ahead.h"
#include "replay/read/read_execution_trace.h"
#include "replay/record/record_run.h"
#include "replay/report/text_table.h"
#include "replay/run/replay_job.h"
#include "replay/run/replay_program.h"
#include "replay/timeline/read_timeline.h"
#include "replay/validate/validate_job.h"
#include "replay/write/write_execution_trace.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/dtensor/explicit_redistribution.h"
#include "sharding/parallel/colwise_parallel.h"
#include "sharding/parallel/context_parallel.h"
#include "sharding/parallel/expert_parallel.h"
#include "sharding/parallel/parallelize.h"
#include "sharding/parallel/rowwise_parallel.h"
#include "verify/case_kind.h"
#include "zero/engine/engine.h"
#include "zero/stage3/stage3.h"

// Declares the names that examples use without declaring them.
namespace simmesh::examples {

using nn::Tensors;

extern DeviceMesh mesh;
extern ProcessGroup group, dp;
extern World world;
extern Outcome outcome;
extern std::function<void(Rank&)> body, train;
extern StackArena arena;

extern Tensor x, y, full, gradient, shard, staged, step, weight, w_rows, x_columns, tensor, bias,
    first, second;
extern std::vector<Tensor> tensors;
extern Generator generator;
extern const Op op;
extern Attributes attributes;
extern Dims dims, sizes;
extern Placements placements;
extern std::int64_t n, i, rows, columns, product, extent;

extern nn::Sequential model, blocks;
extern optim::AdamW optimizer;
extern checkpoint::StateDict state;
Tensor loss(const Tensor& output);

extern zero::Coordinator coordinator;
extern zero::Config config;
extern zero::MakeOptimizer make_optimizer;
extern nn::ModelNode node;

Schema plan_schema();
void verify_plan(const RecordedCase& recorded, const VerifyOptions& options, CaseReport& report);

extern GateTable table;
extern RecordedCase recorded;
extern CaseReport report;
extern std::string line;
extern std::vector<std::string> paths;

}  // namespace simmesh::examples
