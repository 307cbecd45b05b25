#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/reductions/reductions.h"
#include "fsdp/named_params.h"
#include "fsdp/param/param_name.h"
#include "fsdp/state/event_fields.h"
#include "fsdp/state/state.h"
#include "sharding/dtensor/dtensor.h"
#include "verify/case_bits.h"
#include "verify/case_json.h"
#include "verify/case_kind.h"
#include "verify/case_model.h"
#include "verify/case_tensor.h"
#include "verify/case_work.h"
#include "verify/case_world.h"
#include "verify/fsdp/given.h"
#include "verify/fsdp/read_plan.h"
#include "verify/fsdp/read_program.h"
#include "verify/fsdp/setters.h"

namespace simmesh {

namespace {

using Json = nlohmann::json;

Schema ranked(const Schema& value) { return by_rank_schema(value); }

// A tensor that is registered, or a gradient, which has fewer fields.
Schema described_schema(bool is_gradient) {
  using namespace schema;
  Schema shape = shape_schema();
  Fields both = {expected("dtype", dtype_schema()), expected("hash", ranked(hash()))};
  Fields plain = {expected("shape", shape)};
  Fields sharded = {expected("placements", list(text())), expected("local_shape", ranked(shape)),
                    expected("contiguous", flag())};
  if (!is_gradient) {
    both.push_back(expected("requires_grad", flag()));
    sharded.push_back(expected("shape", shape));
    sharded.push_back(expected("mesh_shape", shape));
  }
  return object_by("type", {{"dtensor", sharded}, {"plain", plain}}, both);
}

Schema groups_schema() {
  using namespace schema;
  Schema shape = shape_schema(), count = integer({.min = 0});
  Schema parameter = object({expected("name", text()), expected("unsharded_shape", shape),
                             expected("shard_dim", count), expected("sharded_shape", ranked(shape)),
                             expected("padded_shape", shape), expected("gather_offset", count),
                             expected("gather_numel", count),
                             expected("shared_with", list(text(), {.min = 1})).or_absent()});
  return list(object({expected("group", any_text()), expected("gather_input_numel", count),
                      expected("params", list(parameter))}));
}

Schema layout_schema() {
  using namespace schema;
  Schema registered = named("registered tensor", [] { return described_schema(false); });
  Schema gradient = named("gradient", [] { return described_schema(true); });
  Schema stage = map(registered), count = integer({.min = 0});
  Schema states = map(text());
  Schema collective =
      object({expected("op", word({"all_gather", "reduce_scatter", "all_reduce"})),
              expected("group", any_text()), expected("dtype", dtype_schema()),
              expected("input_numel", count), expected("output_numel", count),
              expected("input_hash", ranked(hash())), expected("output_hash", ranked(hash()))});
  Fields fields = fsdp_fields(given_fields());
  Fields own = {optional("settings", settings_schema()),
                required("forward_input", whole_input_schema()),
                expected("stages", object({expected("after_fully_shard", stage),
                                           expected("after_forward", stage),
                                           expected("after_backward", stage)})),
                expected("groups", groups_schema()),
                expected("state_after_forward", states),
                expected("state_after_backward", states),
                expected("grads", map(or_null(gradient))),
                expected("collectives", list(collective)),
                optional("wrong_after_forward", list(text()))};
  fields.insert(fields.end(), own.begin(), own.end());
  return object(std::move(fields));
}

// Each rank describes its state as recorded cases do; the descriptions are compared.
struct Description {
  Json stages = Json::object();
  Json groups = Json::array();
  Json state_after_forward = Json::object();
  Json state_after_backward = Json::object();
  Json grads = Json::object();
  Json collectives = Json::array();
};

Json list_of(DimSpan shape) { return Json(std::vector<std::int64_t>(shape.begin(), shape.end())); }

Json names_of(PlacementSpan placements) {
  Json list = Json::array();
  for (const Placement& placement : placements) list.push_back(to_string(placement));
  return list;
}

Json describe_tensor(const Tensor& tensor) {
  Json entry;
  Tensor local = tensor.local_part();
  if (tensor.distribution()) {
    DTensorSpec spec = DTensor::of(tensor).spec();
    entry = {{"type", "dtensor"},
             {"placements", names_of(spec.placements())},
             {"shape", list_of(tensor.shape())},
             {"local_shape", list_of(local.shape())},
             {"contiguous", local.is_contiguous()},
             {"mesh_shape", list_of(spec.mesh().shape())}};
  } else {
    entry = {{"type", "plain"}, {"shape", list_of(tensor.shape())}};
  }
  entry["dtype"] = to_string(local.dtype());
  entry["requires_grad"] = tensor.requires_grad();
  entry["hash"] = bits_text(local);
  return entry;
}

Json describe_stage(nn::Module& model) {
  Json stage = Json::object();
  for (auto& [path, module] : model.named_modules())
    for (const nn::ParameterSlot& slot : module->slots())
      stage[path.empty() ? slot.name : path + "." + slot.name] = describe_tensor(slot.tensor);
  return stage;
}

// A parameter of several slots has one gradient, which the first of them shows.
Json describe_grads(nn::Module& model) {
  Json grads = Json::object();
  std::set<TrackingPtr> seen;
  for (auto& [path, module] : model.named_modules()) {
    for (const nn::ParameterSlot& slot : module->slots()) {
      if (slot.tensor.tracking() && !seen.insert(slot.tensor.tracking()).second) continue;
      Json& entry = grads[path.empty() ? slot.name : path + "." + slot.name];
      Tensor gradient = grad_of(slot.tensor);
      if (!gradient.is_defined()) continue;
      entry = describe_tensor(gradient);
      for (const char* name : {"requires_grad", "mesh_shape"}) entry.erase(name);
      if (gradient.distribution()) entry.erase("shape");
    }
  }
  return grads;
}

Json describe_groups(nn::Module& model) {
  Json groups = Json::array();
  for (fsdp::FSDPParamGroup* group : fsdp::groups_of(model)) {
    Json params = Json::array();
    std::int64_t offset = 0;
    for (const auto& param : group->params()) {
      std::int64_t numel = param->padded_numel();
      Json entry = {{"name", name_of(*param, model)},
                    {"unsharded_shape", list_of(param->unsharded_shape())},
                    {"shard_dim", param->shard_dim()},
                    {"sharded_shape", list_of(param->sharded_shape())},
                    {"padded_shape", list_of(param->padded_shape())},
                    {"gather_offset", offset},
                    {"gather_numel", numel}};
      for (const fsdp::NamedParam& named : fsdp::named_params(model))
        if (named.param == param.get() && named.name != entry["name"])
          entry["shared_with"].push_back(named.name);
      params.push_back(std::move(entry));
      offset += numel;
    }
    groups.push_back({{"group", name_of(*group, model)},
                      {"gather_input_numel", offset},
                      {"params", std::move(params)}});
  }
  return groups;
}

Json describe_states(nn::Module& model) {
  Json states = Json::object();
  for (fsdp::FSDPParamGroup* group : fsdp::groups_of(model))
    states[name_of(*group, model)] = to_string(group->sharded_state());
  return states;
}

// Collectives in order; an all-gather's output comes with the wait for it.
class CollectiveLog {
 public:
  explicit CollectiveLog(nn::Module& model, Json& list) : model_(model), list_(list) {}

  void operator()(const fsdp::Event& event) {
    bool is_gather = event.kind == fsdp::EventKind::all_gather;
    if (event.kind == fsdp::EventKind::wait && pending_.count(event.group) > 0) {
      list_[pending_[event.group]]["output_hash"] = bits_text(event.output);
      pending_.erase(event.group);
    }
    if (!is_gather && event.kind != fsdp::EventKind::reduce_scatter &&
        event.kind != fsdp::EventKind::all_reduce)
      return;
    std::int64_t output =
        event.kind == fsdp::EventKind::all_reduce ? event.input.numel() : event.output_numel;
    Json entry = {{"op", to_string(event.kind)},
                  {"group", name_of(*event.group, model_)},
                  {"dtype", to_string(event.input.dtype())},
                  {"input_numel", event.input.numel()},
                  {"output_numel", output}};
    if (!event.input.is_meta()) entry["input_hash"] = bits_text(event.input);
    if (event.output.is_defined()) entry["output_hash"] = bits_text(event.output);
    if (is_gather) pending_[event.group] = list_.size();
    list_.push_back(std::move(entry));
  }

 private:
  nn::Module& model_;
  Json& list_;
  std::map<const fsdp::FSDPParamGroup*, std::size_t> pending_;
};

struct LayoutPlan {
  FsdpPlan fsdp;
  GivenPlan given;
  InputPlan input;
  std::vector<ProgramStep> settings;
};

LayoutPlan read_layout(const RecordedCase& recorded) {
  LayoutPlan plan;
  plan.fsdp = read_fsdp_plan(recorded);
  plan.given = read_given(recorded, plan.fsdp.model);
  plan.input = read_input(recorded["forward_input"], plan.fsdp.model.dtype);
  if (auto settings = recorded.find("settings"))
    plan.settings = read_program(*settings, plan.fsdp.model.dtype);
  require_work(recorded["model"], plan.fsdp.model,
               {.ranks = plan.fsdp.world, .input = plan.input.tensor.shape});
  require_parameters(recorded["params"], plan.fsdp.model);
  return plan;
}

Description describe_run(const LayoutPlan& plan, std::int64_t rank) {
  ShardedModel sharded(plan.fsdp);
  give_gradients(plan.given, sharded, rank);
  sharded.wrap_all();
  nn::Module& model = sharded.model();
  for (const ProgramStep& step : plan.settings)
    set_on_module(model.find(step.module), step.what, step.value, step.recurse);
  Description description;
  description.groups = describe_groups(model);
  description.stages["after_fully_shard"] = describe_stage(model);
  CollectiveLog log(model, description.collectives);
  fsdp::ObserverScope observer([&log](const fsdp::Event& event) { log(event); });
  Tensor input = formula(plan.input.tensor.shape, plan.input.tensor.data);
  if (plan.input.requires_grad) set_requires_grad(input);
  Tensor loss = sum(model(input));
  description.stages["after_forward"] = describe_stage(model);
  description.state_after_forward = describe_states(model);
  backward(loss);
  description.stages["after_backward"] = describe_stage(model);
  description.state_after_backward = describe_states(model);
  description.grads = describe_grads(model);
  return description;
}

void verify_fsdp_layout(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report) {
  LayoutPlan plan = read_layout(recorded);
  require_ranks(recorded.root(), plan.fsdp.world);
  std::vector<Description> descriptions(std::size_t(plan.fsdp.world));
  World world(world_options(options, plan.fsdp.world));
  auto error = run_case(
      world,
      [&](Rank& rank) { descriptions[rank.id()] = describe_run(plan, std::int64_t(rank.id())); },
      report);
  if (error) report.mismatch(fmt::format("expected a run, got {}", error->what()));
  if (report.failed()) return;
  for (std::size_t rank = 0; rank < descriptions.size(); ++rank) {
    const Description& got = descriptions[rank];
    auto compare = [&](const char* name, const Json& actual) {
      expect_same(report, fmt::format("rank {}: {}", rank, name),
                  of_rank(recorded[name].value(), rank), actual);
    };
    compare("groups", got.groups);
    compare("stages", got.stages);
    compare("state_after_forward", got.state_after_forward);
    compare("state_after_backward", got.state_after_backward);
    compare("grads", got.grads);
    compare("collectives", got.collectives);
  }
}

const CaseKind fsdp_layout_kind(
    {.name = "fsdp_layout",
     .summary = "shapes, placements and flat buffers of groups, states, gradients, and the bits of "
                "every collective's buffers",
     .schema = layout_schema,
     .verifier = verify_fsdp_layout});

}  // namespace

}  // namespace simmesh
