#include "gate/tables/pipeline.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "core/autograd/variable.h"
#include "core/check/join_text.h"
#include "core/check/read_file.h"
#include "core/memory/data_mode.h"
#include "core/ops/compute_mode.h"
#include "core/ops/shapes/factories.h"
#include "gate/tables/model.h"
#include "gate/tables/toml_table.h"
#include "pipeline/schedule/csv.h"

namespace simmesh {

namespace {

constexpr GateTable::Range stages_range{1, 64};

void read_schedule(GateTable& table, GatePipeline& result) {
  std::string word = table.text("schedule", result.schedule);
  result.schedule = word;
  if (!word.ends_with(".csv")) {
    table.word("schedule", result.schedule, pipeline_schedules());
    return;
  }
  result.csv_format = table.word("format", result.csv_format, {"compute_only", "compute_comms"});
  std::string path = (std::filesystem::path(table.file()).parent_path() / word).string();
  try {
    result.csv = read_file({.where = "gate/tables/pipeline",
                            .what = "a schedule",
                            .path = path,
                            .bytes_max = gate_bytes_max});
    result.stages = 0;
    if (pipeline::stage_count(pipeline::read_csv(result.csv)) == 0)
      table.reject("schedule", "a file with a row of actions for each rank");
  } catch (const BadGate&) {
    throw;
  } catch (const Error& error) {
    table.reject_value("schedule", "a file with a row of actions for each rank",
                       fmt::format("an error: {}", error.message()));
  }
}

void read_options(GateTable& table, GatePipeline& result) {
  result.sends = table.word("sends", "rendezvous", {"rendezvous", "buffered"}) == "buffered"
                     ? pipeline::SendMode::buffered
                     : pipeline::SendMode::rendezvous;
  pipeline::ScheduleOptions& options = result.options;
  options.defer_pp_recv = table.boolean("defer_pp_recv", options.defer_pp_recv);
  options.defer_reduce_grad_wait =
      table.boolean("defer_reduce_grad_wait", options.defer_reduce_grad_wait);
  options.max_active_stages =
      table.integer("max_active_stages", options.max_active_stages, stages_range);
  if (std::int64_t sends = table.integer("max_outstanding_sends", -1, {-1, 1 << 20}); sends >= 0)
    options.max_outstanding_sends = sends;
}

pipeline::ScheduleClass class_of(const GatePipeline& pipeline) {
  return pipeline::schedule_class_from_string(pipeline.schedule);
}

std::int64_t stages_of(const GatePipeline& pipeline, std::int64_t ranks) {
  return pipeline.is_file() ? pipeline::stage_count(pipeline::read_csv(pipeline.csv))
                            : ranks * pipeline.stages;
}

// Stands for modules that don't change shapes, and whose results depend on values.
nn::ModelNode without_experts(nn::ModelNode node) {
  if (node.kind == "moe") return {node.name, "identity", {}, {}};
  for (nn::ModelNode& child : node.children) child = without_experts(child);
  node.fields.erase("ac");
  return node;
}

// Runs the parts on one row without data, and returns what each stage gives to the next one.
std::vector<pipeline::TensorMetas> boundaries_of(const StagePlan& plan, const PipelineUse& use) {
  DataModeScope no_data(true);
  NoGrad mode;
  Shape shape = {1};
  shape.insert(shape.end(), use.row.begin(), use.row.end());
  nn::Tensors values = {zeros(shape, use.has_tokens ? DType::int64 : use.dtype)};
  std::vector<pipeline::TensorMetas> boundaries(std::size_t(plan.stages));
  for (const StagePlan::Part& part : plan.parts) {
    values = nn::build(without_experts(part.node), {.dtype = use.dtype})->call(values);
    pipeline::TensorMetas& metas = boundaries[std::size_t(part.stage)];
    metas.clear();
    for (const Tensor& value : values)
      metas.push_back({value.shape(), use.sent_dtype, is_floating_point(value.dtype())});
  }
  return boundaries;
}

}  // namespace

const std::vector<std::string>& pipeline_schedules() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (pipeline::ScheduleClass schedule : pipeline::schedule_classes())
      if (schedule != pipeline::ScheduleClass::forward_only)
        all.emplace_back(pipeline::to_string(schedule));
    return all;
  }();
  return names;
}

GatePipeline read_gate_pipeline(GateTable& table, const GateLayout& layout,
                                const nn::ModelNode& model) {
  GatePipeline result;
  result.mesh = table.word("mesh", layout.names.front(), layout.names);
  read_schedule(table, result);
  if (!result.is_file()) {
    bool is_single = pipeline::is_single_stage(class_of(result));
    result.stages = table.integer("stages", is_single ? 1 : 2, stages_range);
    if (is_single && result.stages != 1)
      table.reject_value("stages",
                         fmt::format("1 stage a rank, as {} has it; LoopedBFS and the interleaved "
                                     "schedules have several",
                                     result.schedule),
                         std::to_string(result.stages));
  }
  Shape blocks = table.sizes("blocks", {}, {0, 1 << 16});
  result.blocks = {blocks.begin(), blocks.end()};
  read_options(table, result);
  table.finish();
  if (has_kind(model, "dropout"))
    table.reject_value("mesh",
                       "a model without dropout: a stage doesn't know which of one "
                       "device's random numbers are its own",
                       "one with dropout");
  std::int64_t count = block_count(model);
  if (count == 0)
    table.reject_value("mesh", "a model that is a row of blocks or layers, to cut it between them",
                       "another one");
  std::int64_t stages = stages_of(result, layout.shape[layout.index_of(result.mesh)]);
  if (result.blocks.empty() && stages > count)
    table.reject_value(
        "mesh",
        fmt::format("at most {} stages for the {} blocks of the model, or the key blocks", count,
                    count),
        fmt::format("{} stages", stages));
  if (!result.blocks.empty() && std::int64_t(result.blocks.size()) != stages)
    table.reject("blocks", fmt::format("a number of blocks for each of {} stages", stages));
  try {
    plan_stages(model, result.blocks.empty() ? even_cut(count, stages) : result.blocks);
  } catch (const Error& error) {
    table.reject("blocks", std::string(error.message().substr(std::string("expected ").size())));
  }
  return result;
}

std::string pipeline_entry(const GatePipeline& pipeline) {
  std::string text = fmt::format("{{ mesh = {}, schedule = {}", toml_quoted(pipeline.mesh),
                                 toml_quoted(pipeline.schedule));
  text += pipeline.is_file() ? fmt::format(", format = {}", toml_quoted(pipeline.csv_format))
                             : fmt::format(", stages = {}", pipeline.stages);
  if (!pipeline.blocks.empty())
    text += fmt::format(", blocks = [{}]", join_text(pipeline.blocks, ", "));
  bool is_buffered = pipeline.sends == pipeline::SendMode::buffered;
  const pipeline::ScheduleOptions& options = pipeline.options;
  return text + fmt::format(
                    ", sends = \"{}\", defer_pp_recv = {}, defer_reduce_grad_wait = {}, "
                    "max_active_stages = {}, max_outstanding_sends = {} }}",
                    is_buffered ? "buffered" : "rendezvous", options.defer_pp_recv,
                    options.defer_reduce_grad_wait, options.max_active_stages,
                    options.max_outstanding_sends.value_or(-1));
}

PipelinePlan pipeline_plan(const GatePipeline& pipeline, const PipelineUse& use) {
  PipelinePlan plan;
  std::int64_t stages = stages_of(pipeline, use.ranks);
  plan.stages =
      plan_stages(use.model, pipeline.blocks.empty() ? even_cut(block_count(use.model), stages)
                                                     : pipeline.blocks);
  plan.stages_per_rank = pipeline.stages;
  plan.options = pipeline.options;
  plan.sends = pipeline.sends;
  if (pipeline.is_file()) {
    plan.schedule.reset();
    plan.csv = pipeline.csv;
    plan.csv_format = pipeline.csv_format;
    plan.map =
        pipeline::load_csv(
            plan.csv, plan.csv_format,
            {.ranks = use.ranks, .stages = stages, .microbatches = use.micro_batches}, plan.options)
            .map;
  } else {
    plan.schedule = class_of(pipeline);
    pipeline::ScheduleShape shape{
        .ranks = use.ranks, .stages_per_rank = pipeline.stages, .microbatches = use.micro_batches};
    plan.map = pipeline::build_schedule(*plan.schedule, shape, plan.options).map;
  }
  plan.routers =
      router_needs(*nn::build(use.model, {.device = nn::Device::meta}), use.micro_batches);
  plan.boundaries = boundaries_of(plan.stages, use);
  return plan;
}

}  // namespace simmesh
