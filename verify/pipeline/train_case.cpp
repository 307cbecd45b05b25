#include "verify/pipeline/train_case.h"

#include <algorithm>
#include <fmt/format.h>

#include "verify/case_model.h"
#include "verify/case_work.h"
#include "verify/pipeline/case_rows.h"
#include "verify/pipeline/stage_modules.h"

namespace simmesh {

namespace {

constexpr std::int64_t pipeline_world_max = 64;
constexpr std::int64_t pipeline_steps_max = 256;

Schema chunk_dim_schema() {
  return schema::either({schema::integer(), schema::word({"replicate"})});
}

Schema train_schedule_schema() {
  using namespace schema;
  Fields fields = {required("microbatches", integer({.min = 1, .max = 1 << 10})),
                   optional("csv", any_text()),
                   optional("format", text()),
                   required("name", text()),
                   optional("scale_grads", flag()),
                   optional("options", pipeline_options_schema()),
                   optional("args_chunk", or_null(list(chunk_dim_schema()))),
                   optional("kwargs_chunk", or_null(map(chunk_dim_schema()))),
                   optional("output_merge", or_null(either({integer(), list(integer())})))};
  return object(std::move(fields));
}

Schema given_schema() {
  using namespace schema;
  Schema meta = object({required("shape", shape_schema()), optional("dtype", dtype_schema()),
                        optional("requires_grad", flag())});
  Schema value = either({meta, integer(), null()});
  Schema values = either({list(value), meta, integer()});
  return map(object({optional("input_args", values), optional("output_args", values)}));
}

Schema batch_schema(bool may_require_grad) {
  using namespace schema;
  Fields fields = {required("shape", list(integer({.min = 1}), {.min = 1, .max = 64})),
                   optional("dtype", dtype_schema())};
  if (may_require_grad) fields.push_back(optional("requires_grad", flag()));
  return formula_schema(std::move(fields));
}

Schema keyword_schema() {
  using namespace schema;
  return object_of(
      {{"value", {required("value", number())}},
       {"shape",
        {required("shape", shape_schema()), required("rule", word({"unit", "small", "positive"})),
         required("seed", seed()), optional("cut", flag())}}});
}

Schema step_schema(schema::Fields results) {
  using namespace schema;
  Fields fields = {required("do", word({"step", "eval", "optim_step", "zero_grad", "context_twice",
                                        "suppress"})),
                   optional("batch", integer({.min = 0})),
                   optional("bad", text()),
                   optional("target", flag()),
                   optional("pass_losses", flag()),
                   optional("return_outputs", flag()),
                   optional("finalize_gradients", flag()),
                   optional("no_grad", flag()),
                   optional("pre_split", flag()),
                   optional("pre_split_count", integer({.min = 0, .max = 1 << 10})),
                   optional("batch_size", integer({.min = 1})),
                   optional("loss_kwargs", object({required("scale", number())}))};
  for (Field& field : results) fields.push_back(std::move(field));
  return object(std::move(fields));
}

CaseTensor read_train_tensor(const CaseField& field, DType dtype) {
  CaseTensor tensor;
  tensor.shape = field["shape"].shape();
  require_elements(field["shape"], tensor.shape, 1);
  if (auto own = field.find("dtype")) dtype = dtype_from_string(own->text());
  tensor.data.dtype = dtype;
  tensor.data.rule = rule_from_string(field["rule"].text());
  tensor.data.seed = field["seed"].unsigned64();
  if (auto below = field.find("below")) tensor.data.below = below->unsigned64();
  if (auto scale = field.find("scale")) tensor.data.scale = scale->number();
  return tensor;
}

pipeline::ChunkDim read_chunk_dim(const CaseField& field) {
  return field.is_text() ? pipeline::ChunkDim() : field.integer();
}

void read_train_schedule(const CaseField& field, PipelineCase& plan) {
  plan.schedule = field["name"].text();
  plan.microbatches = field["microbatches"].integer();
  if (auto csv = field.find("csv")) plan.csv = csv->text();
  if (auto format = field.find("format")) plan.format = format->text();
  if (auto scale = field.find("scale_grads")) plan.scale_grads = scale->boolean();
  if (auto options = field.find("options")) plan.options = read_pipeline_options(*options);
  if (auto dims = field.find("args_chunk"); dims && !dims->is_null()) {
    plan.args_chunk.emplace();
    for (const CaseField& dim : dims->items()) plan.args_chunk->push_back(read_chunk_dim(dim));
  }
  if (auto dims = field.find("kwargs_chunk"); dims && !dims->is_null()) {
    plan.kwargs_chunk.emplace();
    for (const std::string& name : dims->keys())
      plan.kwargs_chunk->emplace(name, read_chunk_dim((*dims)[name]));
  }
  if (auto dims = field.find("output_merge"); dims && !dims->is_null())
    plan.output_merge =
        dims->is_list() ? dims->integers() : std::vector<std::int64_t>{dims->integer()};
}

std::vector<GivenTensor> read_given_tensors(const CaseField& field, DType dtype) {
  if (field.is_list()) {
    std::vector<GivenTensor> all;
    for (const CaseField& item : field.items()) {
      std::vector<GivenTensor> one =
          item.is_null() ? std::vector<GivenTensor>(1) : read_given_tensors(item, dtype);
      all.push_back(one.front());
    }
    return all;
  }
  GivenTensor given;
  if (field.is_integer()) {
    given.number = field.integer();
    return {given};
  }
  given.meta.emplace();
  given.meta->shape = field["shape"].shape();
  require_elements(field["shape"], given.meta->shape, 1);
  given.meta->dtype = dtype;
  if (auto own = field.find("dtype")) given.meta->dtype = dtype_from_string(own->text());
  if (auto wants = field.find("requires_grad")) given.meta->requires_grad = wants->boolean();
  return {given};
}

std::int64_t stage_number(const CaseField& field, const std::string& key) {
  if (key.empty() || key.size() > 6 || key.find_first_not_of("0123456789") != std::string::npos)
    field.reject("fields named by stages");
  return std::stoll(key);
}

PipelineStep read_pipeline_step(const CaseField& field) {
  PipelineStep step;
  step.act = field["do"].text();
  auto read_flag = [&](const char* name, bool& into) {
    if (auto found = field.find(name)) into = found->boolean();
  };
  read_flag("target", step.has_target);
  read_flag("pass_losses", step.passes_losses);
  read_flag("return_outputs", step.return_outputs);
  read_flag("finalize_gradients", step.finalize);
  read_flag("no_grad", step.no_grad);
  read_flag("pre_split", step.pre_split);
  if (auto batch = field.find("batch")) step.batch = batch->integer();
  if (auto bad = field.find("bad")) step.bad = bad->text();
  if (auto count = field.find("pre_split_count")) step.pre_split_count = count->integer();
  if (auto size = field.find("batch_size")) step.batch_size = size->integer();
  if (auto kwargs = field.find("loss_kwargs")) {
    step.has_loss_scale = true;
    step.loss_scale = (*kwargs)["scale"].number();
  }
  step.records_grads = field.has("grads");
  return step;
}

void read_stages(const RecordedCase& recorded, PipelineCase& plan) {
  for (const CaseField& stage : recorded["stages"].items()) plan.stages.push_back(stage.texts());
  plan.stage_to_rank = recorded["stage_to_rank"].integers();
  if (plan.stage_to_rank.size() < plan.stages.size())
    recorded["stage_to_rank"].reject("the rank of each stage");
  if (auto by_rank = recorded.find("stages_of_rank")) {
    plan.stages_of_rank.emplace();
    for (const CaseField& stages : by_rank->items())
      plan.stages_of_rank->push_back(stages.integers());
    if (std::int64_t(plan.stages_of_rank->size()) < plan.pipeline_ranks)
      by_rank->reject("the stages of each rank");
    for (const auto& stages : *plan.stages_of_rank)
      for (std::int64_t stage : stages)
        if (stage < 0 || stage >= std::int64_t(plan.stages.size()))
          by_rank->reject("stages of the pipeline");
  }
  if (auto indices = recorded.find("stage_index"))
    for (const std::string& key : indices->keys())
      plan.stage_index[stage_number(*indices, key)] = (*indices)[key].integer();
  if (auto gain = recorded.find("gain"))
    for (const std::string& key : gain->keys())
      plan.gain[stage_number(*gain, key)] = (*gain)[key].text();
  if (auto given = recorded.find("given"); given && !given->is_null()) {
    for (const std::string& key : given->keys()) {
      CaseField of_stage = (*given)[key];
      PipelineCase::Given& into = plan.given[stage_number(*given, key)];
      if (auto inputs = of_stage.find("input_args"))
        into.inputs = read_given_tensors(*inputs, plan.model.dtype);
      if (auto outputs = of_stage.find("output_args"))
        into.outputs = read_given_tensors(*outputs, plan.model.dtype);
    }
  }
}

void read_keywords(const RecordedCase& recorded, PipelineCase& plan) {
  auto kwargs = recorded.find("kwargs");
  if (!kwargs || kwargs->is_null()) return;
  for (const std::string& name : kwargs->keys()) {
    CaseField field = (*kwargs)[name];
    PipelineCase::Keyword& keyword = plan.kwargs[name];
    if (auto value = field.find("value")) {
      keyword.value = value->number();
      continue;
    }
    keyword.tensor = read_train_tensor(field, plan.model.dtype);
    if (auto cut = field.find("cut")) keyword.is_cut = cut->boolean();
  }
}

void require_pipeline_work(const RecordedCase& recorded, const PipelineCase& plan) {
  std::int64_t steps = std::int64_t(plan.program.size()) + 1;
  require_work(recorded["model"], plan.model,
               {.ranks = plan.world,
                .steps = steps * plan.microbatches,
                .kept = plan.microbatches,
                .input = plan.input.shape});
}

}  // namespace

std::vector<std::int64_t> PipelineCase::stages_on(std::int64_t rank) const {
  if (stages_of_rank) return (*stages_of_rank)[std::size_t(rank)];
  std::vector<std::int64_t> own;
  for (std::size_t stage = 0; stage < stages.size(); ++stage)
    if (stage_to_rank[stage] == rank) own.push_back(std::int64_t(stage));
  return own;
}

schema::Fields pipeline_case_fields(schema::Fields own, schema::Fields step_results) {
  using namespace schema;
  Fields fields = model_fields();
  for (Field& field : fields)
    if (field.name == "model") field = required("model", pipeline_model_schema());
  Schema stages = list(list(text()), {.min = 1, .max = 1 << 10});
  Fields further = {
      required("world", integer({.min = 1, .max = pipeline_world_max})),
      required("mesh",
               object({required("shape", list(integer({.min = 1}), {.min = 1, .max = 2}))})),
      required("stages", stages),
      required("stage_to_rank", stage_ranks_schema()),
      optional("stages_of_rank", list(list(integer({.min = 0})))),
      optional("stage_index", map(integer())),
      required("schedule", train_schedule_schema()),
      optional("given", or_null(given_schema())),
      optional("gain", map(text())),
      optional("kwargs", or_null(map(keyword_schema()))),
      optional("data_parallel", or_null(word({"fsdp", "ddp"}))),
      optional("reshard_after_forward", or_null(flag())),
      optional("debug_detail", flag()),
      required("input", batch_schema(true)),
      required("target", or_null(batch_schema(false))),
      required("step_seed", seed()),
      required("loss", or_null(word({"mse", "cross_entropy", "dot", "dot_sum", "dot_rows"}))),
      required("optimizer", or_null(optimizer_schema())),
      required("program", list(step_schema(std::move(step_results)),
                               {.min = 1, .max = std::size_t(pipeline_steps_max)}))};
  fields.insert(fields.end(), further.begin(), further.end());
  fields.insert(fields.end(), own.begin(), own.end());
  return fields;
}

PipelineCase read_pipeline_case(const RecordedCase& recorded) {
  PipelineCase plan;
  plan.model = read_model(recorded);
  plan.world = recorded["world"].integer();
  Shape mesh = recorded["mesh"]["shape"].shape();
  plan.pipeline_ranks = mesh[0];
  plan.data_ranks = mesh.size() > 1 ? mesh[1] : 1;
  if (numel(mesh) != plan.world) recorded["mesh"].reject("a mesh of all ranks");
  read_stages(recorded, plan);
  read_train_schedule(recorded["schedule"], plan);
  read_keywords(recorded, plan);
  if (auto kind = recorded.find("data_parallel"); kind && !kind->is_null())
    plan.data_parallel = kind->text();
  if (auto reshard = recorded.find("reshard_after_forward"); reshard && !reshard->is_null())
    plan.reshard_after_forward = reshard->boolean();
  if (auto debug = recorded.find("debug_detail")) plan.debug_detail = debug->boolean();
  plan.input = read_train_tensor(recorded["input"], plan.model.dtype);
  if (auto wants = recorded["input"].find("requires_grad"))
    plan.input_requires_grad = wants->boolean();
  if (!recorded["target"].is_null())
    plan.target = read_train_tensor(recorded["target"], plan.model.dtype);
  plan.step_seed = recorded["step_seed"].unsigned64();
  if (!recorded["loss"].is_null()) plan.loss = recorded["loss"].text();
  if (!recorded["optimizer"].is_null()) plan.optimizer = read_optimizer(recorded["optimizer"]);
  for (const CaseField& step : recorded["program"].items())
    plan.program.push_back(read_pipeline_step(step));
  require_pipeline_work(recorded, plan);
  return plan;
}

}  // namespace simmesh
