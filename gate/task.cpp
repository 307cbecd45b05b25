#include "gate/task.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "collectives/collectives.h"
#include "core/memory/data_mode.h"
#include "core/tensor/chunk.h"
#include "core/tensor/convert.h"
#include "ddp/replicate.h"
#include "gate/fit.h"
#include "training/context_form.h"
#include "training/expert_form.h"
#include "training/pipelined/stage_fsdp.h"
#include "training/shuffled_rows.h"

namespace simmesh {

namespace {

// Returns `count` rows of a shape: tokens or classes below `numbers`, or values if that is 0.
Tensor rows_by_formula(const GateFile& gate, std::int64_t count, const Shape& row,
                       std::int64_t numbers, std::uint64_t seed) {
  Shape shape = {count};
  shape.insert(shape.end(), row.begin(), row.end());
  Formula data{.rule = gate.data.rule, .seed = seed, .dtype = gate.model.dtype};
  if (numbers > 0) {
    data.rule = Rule::index;
    data.below = std::uint64_t(numbers);
    data.dtype = DType::int64;
  } else if (data.rule == Rule::index) {
    data.rule = Rule::unit;
  }
  return formula(shape, data);
}

Batch batch_by_formula(const GateFile& gate, std::int64_t count, std::uint64_t seed) {
  const GateData& data = gate.data;
  return {rows_by_formula(gate, count, data.input, data.vocabulary, seed),
          rows_by_formula(gate, count, data.target, data.classes, seed + 1)};
}

Tensor taken_rows(const Tensor& all, const std::vector<std::int64_t>& rows) {
  Shape shape = all.shape();
  shape[0] = std::int64_t(rows.size());
  Tensor taken = empty(shape, all.dtype());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Tensor row = taken.narrow({0, std::int64_t(i), 1});
    copy_(row, all.narrow({0, rows[i], 1}));
  }
  return taken;
}

std::vector<Batch> steps_of(const GateFile& gate) {
  std::vector<Batch> steps;
  if (gate.data.rows == 0) {
    for (std::int64_t step = 0; step < gate.train.steps; ++step)
      steps.push_back(
          batch_by_formula(gate, gate.data.batch, gate.data.seed + 2 * std::uint64_t(step)));
    return steps;
  }
  Batch all = batch_by_formula(gate, gate.data.rows, gate.data.seed);
  ShuffledRows rows({.rows = gate.data.rows, .seed = gate.data.seed});
  for (std::int64_t step = 0; step < gate.train.steps; ++step) {
    std::vector<std::int64_t> taken = rows.next(gate.data.batch);
    steps.push_back({taken_rows(all.input, taken), taken_rows(all.target, taken)});
  }
  return steps;
}

double terms_of(const GateFile& gate) {
  if (gate.train.loss == LossKind::dot) return double(gate.data.batch);
  return double(gate.data.batch) * double(numel(gate.data.target));
}

// True if the ranks that split layers also have different experts, and the same rows.
bool has_experts_over_tensor(const GateParallel& parallel) {
  return parallel.expert && parallel.tensor && parallel.expert->mesh == parallel.tensor->mesh;
}

// Returns the mesh of the gate. Split experts may need a dim of one rank, on the same mesh.
GateLayout layout_of(const GateFile& gate) {
  const GateParallel& parallel = gate.parallel;
  bool splits_experts = parallel.fsdp && parallel.expert && parallel.tensor;
  return splits_experts ? owner_layout(gate.mesh) : gate.mesh;
}

DeviceMesh mesh_of(const GateFile& gate) {
  GateLayout layout = layout_of(gate);
  return init_device_mesh(layout.shape, layout.names);
}

}  // namespace

GateTask gate_task(const GateFile& gate) {
  DataModeScope scope(gate.world.shapes_only);
  TrainingTask task;
  task.model = training_model(gate.model, gate.model_use());
  task.steps = gate.train.steps;
  task.micro_batches = gate.train.micro_batches;
  task.loss = gate.train.loss;
  task.autocast = gate.train.autocast;
  task.terms = terms_of(gate);
  task.optimizer = gate.train.optimizer;
  task.init_on_meta = gate.model.init_on_meta && gate.parallel.fsdp.has_value();
  if (gate.train.lr_schedule)
    task.rate_factor = [rate = gate.train.lr_schedule->rate()](std::int64_t step) {
      return rate.factor(step);
    };
  if (gate.train.clip_grad_norm > 0)
    task.clip = optim::ClipOptions{.max_norm = gate.train.clip_grad_norm};
  task.batch = [steps = steps_of(gate), parts = task.micro_batches](std::int64_t step,
                                                                    std::int64_t micro) {
    const Batch& whole = steps[std::size_t(step)];
    Chunk rows = chunk_of({.size = whole.input.size(0), .parts = parts, .index = micro});
    return Batch{whole.input.narrow({0, rows.start, rows.length}),
                 whole.target.narrow({0, rows.start, rows.length})};
  };
  GateTask result{.training = std::move(task), .plan = {}};
  const GateParallel& parallel = gate.parallel;
  const nn::ModelNode& model = result.training.model.node;
  if (parallel.fsdp) result.plan = fsdp_plan(*parallel.fsdp, layout_of(gate), model);
  if (parallel.fsdp && parallel.expert && !has_experts_over_tensor(parallel))
    spread_fsdp_plan(*parallel.expert, *parallel.fsdp, model, result.plan);
  if (parallel.pipeline) {
    result.pipeline = pipeline_plan(
        *parallel.pipeline,
        pipeline_use_of({gate.model, gate.data, gate.train, model}, parallel, gate.mesh));
    for (std::int64_t stage = 0; stage < result.pipeline->stages.stages; ++stage)
      result.stage_plans.push_back(fsdp_plan_of_stage(result.plan, result.pipeline->stages, stage));
  }
  return result;
}

namespace {

// Returns the group of this rank along some dims of a mesh, in the order of the coordinates.
ProcessGroup group_along(const GateFile& gate, std::vector<std::string> dims) {
  DeviceMesh mesh = mesh_of(gate);
  if (dims.size() == 1) return process_group(mesh, dims.front());
  std::sort(dims.begin(), dims.end(), [&](const std::string& a, const std::string& b) {
    return gate.mesh.index_of(a) < gate.mesh.index_of(b);
  });
  return ProcessGroup::of(mesh[DimNames(dims)].ranks(), "rows");
}

// Returns the mesh dims over which gradients are summed: those of rows and of sequences.
std::vector<std::string> summed_dims(const GateParallel& parallel) {
  std::vector<std::string> dims = parallel.row_dims();
  if (parallel.context) dims.push_back(parallel.context->mesh);
  return dims;
}

// Adds context parallelism: sequences are cut over one dim, and rows over the other dims only.
ParallelForm with_cut_sequences(const GateFile& gate, ParallelForm form) {
  if (!gate.parallel.context) return form;
  const GateContext& context = *gate.parallel.context;
  std::vector<std::string> dims = gate.parallel.row_dims();
  form.parts = gate.parts();
  form.part = dims.empty() ? 0 : group_along(gate, dims).rank();
  return with_context(std::move(form), context.style, mesh_of(gate)[context.mesh]);
}

// Adds tensor and expert parallelism, which come before anything else that is done to the model:
// first each rank gets its experts, and then its part of their layers.
ParallelForm with_spread_layers(const GateFile& gate, ParallelForm form) {
  if (!gate.parallel.tensor && !gate.parallel.expert) return form;
  DeviceMesh mesh = mesh_of(gate);
  if (gate.parallel.tensor) {
    const GateTensor& tensor = *gate.parallel.tensor;
    form = with_tensor(std::move(form), tensor.form, mesh[tensor.mesh]);
  }
  if (!gate.parallel.expert) return form;
  const std::string& dim = gate.parallel.expert->mesh;
  bool cuts_sequences = gate.parallel.context && gate.parallel.context->mesh == dim;
  Placement tokens = Shard(cuts_sequences ? 1 : 0);
  if (has_experts_over_tensor(gate.parallel)) tokens = Replicate();
  return with_experts(std::move(form), {.tokens = tokens}, mesh[dim]);
}

// Returns the experts apart: their gradients have the rows of their own dim already, and are summed
// over the other dims.
std::vector<ReplicatedApart> own_experts(const GateFile& gate, nn::Module& model,
                                         std::vector<std::string> dims) {
  if (!gate.parallel.expert) return {};
  std::erase(dims, gate.parallel.expert->mesh);
  ReplicatedApart experts;
  for (const auto& [name, parameter] : model.named_parameters())
    if (is_expert_parameter(model, name)) experts.parameters.push_back(parameter);
  if (!dims.empty()) experts.group = group_along(gate, dims);
  return {std::move(experts)};
}

// Adds replicate, which sums gradients over the dims of rows and of sequences.
ParallelForm replicated_form(const GateFile& gate, ParallelForm form) {
  GateReplicate options = gate.parallel.replicate.value_or(
      GateReplicate{.find_unused = has_kind(model_node(gate.model, gate.model_use()), "moe")});
  std::vector<std::string> dims = summed_dims(gate.parallel);
  ProcessGroup group = group_along(gate, dims);
  auto replication = std::make_shared<std::optional<Replication>>();
  form.part = group.rank();
  form.parts = group.size();
  form.replication = replication;
  form.prepare = [&gate, options, dims, group, replication,
                  next = std::move(form.prepare)](nn::Module& model) {
    replication->emplace(replicate(model, group,
                                   {.bucket_bytes = std::size_t(options.bucket_bytes),
                                    .find_unused = options.find_unused,
                                    .apart = own_experts(gate, model, dims)}));
    if (next) next(model);
  };
  form.before_micro_batch = [replication](nn::Module&, bool is_last) {
    (*replication)->set_requires_gradient_sync(is_last);
  };
  form.all_sum = [group](const Tensor& value) { return all_reduce(value, ReduceOp::sum, group); };
  return form;
}

// Returns how the gate uses ZeRO: experts have the ranks that share them as their group.
ZeroForm zero_of(const GateFile& gate, const AtZeroMemory& at_memory) {
  const GateParallel& parallel = gate.parallel;
  ZeroForm zero{.config = parallel.zero->config, .at_memory = at_memory};
  if (parallel.tensor) zero.tensor = group_along(gate, {parallel.tensor->mesh});
  if (!parallel.expert) return zero;
  zero.experts = group_along(gate, {parallel.expert->mesh});
  std::vector<std::string> dims = summed_dims(parallel);
  std::erase(dims, parallel.expert->mesh);
  zero.sharing = dims.empty()
                     ? ProcessGroup::of(RankList::of({std::int64_t(this_rank().id())}), "own")
                     : group_along(gate, dims);
  return zero;
}

// Adds what the table [parallel] says, but for pipeline. The plan is that of the model, or of a
// stage of it.
ParallelForm form_on_mesh(const GateFile& gate, const FsdpPlan& plan, ParallelForm form,
                          const AtZeroMemory& at_memory) {
  if (gate.parallel.fsdp) {
    auto sharded = std::make_shared<ShardedTraining>(plan, gate.parallel.fsdp->settings);
    form = sharded->form(std::move(form));
    form.prepare = [sharded, next = std::move(form.prepare)](nn::Module& model) { next(model); };
    form = with_cut_sequences(gate, std::move(form));
  } else if (gate.parallel.zero) {
    ZeroForm zero = zero_of(gate, at_memory);
    ProcessGroup group = group_along(gate, summed_dims(gate.parallel));
    form = zero_form(zero, group, std::move(form));
    form = with_cut_sequences(gate, std::move(form));
  } else if (!summed_dims(gate.parallel).empty()) {
    form = with_cut_sequences(gate, replicated_form(gate, std::move(form)));
  }
  return with_spread_layers(gate, std::move(form));
}

// Returns how a rank trains its stages. They have forms of their own, and the optimiser is one.
TrainingResult train_stages(const GateFile& gate, const GateTask& task, ParallelForm given,
                            const AtZeroMemory& at_memory) {
  const GateParallel& parallel = gate.parallel;
  auto prepare = std::move(given.prepare);
  given.prepare = {};
  ParallelForm form = form_on_mesh(gate, task.plan, std::move(given), at_memory);
  form.prepare = std::move(prepare);
  PipelineForm pipeline{.plan = *task.pipeline,
                        .group = group_along(gate, {parallel.pipeline->mesh})};
  if (parallel.expert) {
    pipeline.experts = group_along(gate, {parallel.expert->mesh});
    pipeline.experts_of_all = group_along(gate, {parallel.expert->mesh, parallel.pipeline->mesh});
  }
  pipeline.form_of_stage = [&](std::int64_t stage) {
    return form_on_mesh(gate, task.stage_plans[std::size_t(stage)], {}, {});
  };
  return train_pipeline(task.training, form, pipeline);
}

}  // namespace

TrainingResult train_on_mesh(const GateFile& gate, const GateTask& task, ParallelForm form,
                             const AtZeroMemory& at_memory) {
  if (gate.parallel.pipeline) return train_stages(gate, task, std::move(form), at_memory);
  return train(task.training, form_on_mesh(gate, task.plan, std::move(form), at_memory));
}

}  // namespace simmesh
