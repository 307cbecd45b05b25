#include "verify/zero/schedule_case.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/tensor/formula.h"

namespace simmesh {

namespace {

constexpr std::int64_t schedule_numel_max = 1 << 20;
constexpr std::int64_t schedule_entries_max = 4096;
constexpr std::int64_t schedule_ranks_max = 64;

using IntegerKey = std::int64_t zero::ZeroOptimization::*;
using FlagKey = bool zero::ZeroOptimization::*;

// Keys on which a schedule depends; those of stage 3 may have its prefix.
constexpr std::pair<const char*, IntegerKey> integer_keys[] = {
    {"stage", &zero::ZeroOptimization::stage},
    {"reduce_bucket_size", &zero::ZeroOptimization::reduce_bucket_size},
    {"sub_group_size", &zero::ZeroOptimization::sub_group_size},
    {"zero_hpz_partition_size", &zero::ZeroOptimization::zero_hpz_partition_size},
    {"stage3_prefetch_bucket_size", &zero::ZeroOptimization::prefetch_bucket_size},
    {"stage3_param_persistence_threshold", &zero::ZeroOptimization::param_persistence_threshold},
    {"stage3_model_persistence_threshold", &zero::ZeroOptimization::model_persistence_threshold},
    {"stage3_max_live_parameters", &zero::ZeroOptimization::max_live_parameters},
    {"stage3_max_reuse_distance", &zero::ZeroOptimization::max_reuse_distance}};
constexpr std::pair<const char*, FlagKey> flag_keys[] = {
    {"reduce_scatter", &zero::ZeroOptimization::reduce_scatter},
    {"contiguous_gradients", &zero::ZeroOptimization::contiguous_gradients},
    {"stage3_use_all_reduce_for_fetch_params",
     &zero::ZeroOptimization::use_all_reduce_for_fetch_params},
    {"stage3_allgather_sequential", &zero::ZeroOptimization::allgather_sequential}};

constexpr const char* granularity_key = "stage3_module_granularity_threshold";

Schema spec_schema() {
  using namespace schema;
  Fields zero;
  for (const auto& [name, key] : integer_keys) zero.push_back(optional(name, integer({.min = 0})));
  zero.push_back(optional(granularity_key, integer()));  // below 1 it is off
  for (const auto& [name, key] : flag_keys) zero.push_back(optional(name, flag()));
  zero.push_back(optional("overlap_comm", flag()));
  return object({required("zero", object(std::move(zero))), required("model", text()),
                 required("dtype", word({"fp32", "bf16", "fp16"})),
                 optional("gas", integer({.min = 1, .max = schedule_entries_max})),
                 optional("iters", integer({.min = 0, .max = schedule_entries_max})),
                 optional("phase", list(word({"train", "eval", "forward"}))),
                 optional("engine", word({"inference"}))});
}

// A module that only holds parameters and others.
class Holder final : public nn::Module {
 public:
  nn::Tensors forward(const nn::Tensors&) override {
    raise(ErrorKind::runtime_error, "verify/schedule", "expected no forward of a recorded module");
  }
  void hold(const std::string& name, const Tensor& parameter) {
    bool is_taken = std::any_of(slots().begin(), slots().end(),
                                [&](const nn::ParameterSlot& slot) { return slot.name == name; });
    register_parameter(is_taken ? name + "_" : name, parameter);
  }
  void hold(const std::string& name, const nn::ModulePtr& child) { register_child(name, child); }
};

std::string parent_of(const std::string& name) {
  std::size_t dot = name.rfind('.');
  return dot == name.npos ? "" : name.substr(0, dot);
}

std::string last_of(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// Builder makes modules by dotted name, with those above them.
class Builder {
 public:
  Builder() : root_(std::make_unique<Holder>()) { known_[""] = root_.get(); }

  Holder& at(const std::string& name) {
    if (auto found = known_.find(name); found != known_.end()) return *found->second;
    Holder& parent = at(parent_of(name));
    auto made = std::make_shared<Holder>();
    parent.hold(last_of(name), made);
    return *(known_[name] = made.get());
  }

  std::unique_ptr<Holder> take() { return std::move(root_); }

 private:
  std::unique_ptr<Holder> root_;
  std::map<std::string, Holder*> known_;
};

std::int64_t id_in(const CaseField& field, std::size_t count) {
  return field.integer({.min = 0, .max = std::int64_t(count) - 1});
}

// Fields "0", "1", ...
std::vector<CaseField> numbered(const CaseField& field) {
  if (std::int64_t(field.size()) > schedule_entries_max) field.reject("fewer entries");
  std::vector<CaseField> entries;
  for (std::size_t i = 0; i < field.size(); ++i) entries.push_back(field[std::to_string(i)]);
  return entries;
}

void read_params(const CaseField& meta, ScheduleCase& schedule) {
  for (const CaseField& entry : numbered(meta["params"])) {
    std::vector<CaseField> items = entry.items();
    schedule.params.push_back(
        {.name = items[0].text(),
         .numel = items[1].integer({.min = 0, .max = schedule_numel_max}),
         .is_persistent = items[2].boolean(),
         .shard_numel = items[3].integer({.min = 0, .max = schedule_numel_max})});
  }
  for (const CaseField& id : meta["frozen"].items())
    schedule.params[std::size_t(id_in(id, schedule.params.size()))].is_frozen = true;
}

void read_modules(const CaseField& meta, ScheduleCase& schedule) {
  std::size_t params = schedule.params.size();
  for (const CaseField& entry : numbered(meta["modules"])) {
    std::vector<CaseField> items = entry.items();
    ScheduleCase::Module& module = schedule.modules.emplace_back();
    module.name = items[0].text();
    for (const CaseField& id : items[2].items()) module.params.push_back(id_in(id, params));
    module.needs = module.params;
  }
  CaseField leaves = meta["leafparams"];
  for (const std::string& key : leaves.keys()) {
    auto id = std::size_t(-1);
    for (std::size_t i = 0; i < schedule.modules.size(); ++i)
      if (std::to_string(i) == key) id = i;
    if (id >= schedule.modules.size()) leaves[key].reject("parameters of a module that there is");
    schedule.modules[id].is_leaf = true;
    std::vector<std::int64_t>& needs = schedule.modules[id].needs;
    needs.clear();
    for (const CaseField& param : leaves[key].items()) needs.push_back(id_in(param, params));
  }
}

void read_zero(const CaseField& spec, ScheduleCase& schedule) {
  CaseField keys = spec["zero"];
  schedule.zero.stage = 3;
  for (const auto& [name, key] : integer_keys)
    if (auto field = keys.find(name)) schedule.zero.*key = field->integer();
  for (const auto& [name, key] : flag_keys)
    if (auto field = keys.find(name)) schedule.zero.*key = field->boolean();
  if (auto field = keys.find(granularity_key))
    schedule.zero.module_granularity_threshold = field->integer();
  std::string dtype = spec["dtype"].text();
  schedule.dtype = dtype == "fp32"   ? DType::float32
                   : dtype == "bf16" ? DType::bfloat16
                                     : DType::float16;
  schedule.has_optimizer = !spec.has("engine");
}

void read_phases(const CaseField& spec, ScheduleCase& schedule) {
  if (auto gas = spec.find("gas")) schedule.gas = gas->integer();
  auto iterations = spec.find("iters");
  std::size_t count = iterations ? std::size_t(iterations->integer()) : 4;
  schedule.phases.assign(count, ScheduleCase::Phase::train);
  auto phases = spec.find("phase");
  if (!phases) return;
  if (phases->size() != count)
    phases->reject(fmt::format("one entry for each of {} iterations", count));
  for (std::size_t i = 0; i < count; ++i) {
    std::string phase = phases->items()[i].text();
    if (phase == "eval") schedule.phases[i] = ScheduleCase::Phase::eval;
    if (phase == "forward") schedule.phases[i] = ScheduleCase::Phase::forward;
  }
}

}  // namespace

Schema schedule_meta_schema(schema::Fields more) {
  using namespace schema;
  Schema id = integer({.min = 0}), ids = list(id);
  Fields fields = {
      required("modules", map(tuple({any_text(), text(), ids}))),
      required("leafparams", map(ids)),
      required("params", map(tuple({text(), integer({.min = 0, .max = schedule_numel_max}), flag(),
                                    integer({.min = 0})}))),
      required("W", integer({.min = 1, .max = schedule_ranks_max})),
      required("spec", spec_schema()),
      required("frozen", ids),
      required("tiles", list(ids))};
  fields.insert(fields.end(), more.begin(), more.end());
  return object(std::move(fields));
}

ScheduleCase read_schedule(const CaseField& meta) {
  ScheduleCase schedule;
  read_params(meta, schedule);
  read_modules(meta, schedule);
  if (schedule.modules.empty() || !schedule.modules[0].name.empty())
    meta["modules"].reject("a root with the empty name first");
  read_zero(meta["spec"], schedule);
  read_phases(meta["spec"], schedule);
  schedule.world = meta["W"].integer();
  for (const CaseField& tile : meta["tiles"].items()) schedule.tiles.push_back(tile.integers());
  return schedule;
}

std::unique_ptr<nn::Module> ScheduleCase::build() const {
  Builder builder;
  for (const Module& module : modules) builder.at(module.name);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < params.size(); ++i) {
    Tensor tensor = formula({params[i].numel}, {.rule = Rule::wide, .seed = i + 1, .dtype = dtype});
    set_requires_grad(tensor);
    builder.at(parent_of(params[i].name)).hold(last_of(params[i].name), tensor);
    set_requires_grad(tensor, !params[i].is_frozen);
    tensors.push_back(tensor);
  }
  for (const Module& module : modules)
    for (std::int64_t id : module.params) {
      const std::string& name = params[std::size_t(id)].name;
      if (parent_of(name) != module.name)
        builder.at(module.name).hold(last_of(name), tensors[std::size_t(id)]);
    }
  return builder.take();
}

}  // namespace simmesh
