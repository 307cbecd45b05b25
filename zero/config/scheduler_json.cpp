#include "zero/config/scheduler_json.h"

#include <array>

#include "core/check/error.h"
#include "zero/config/config_keys.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view scheduler_source = "zero/config";

constexpr std::string_view own_schedulers =
    "WarmupLR, WarmupDecayLR, WarmupCosineLR, OneCycle or LRRangeTest";

// Those of torch.optim.lr_scheduler, which DeepSpeed takes in stage 0 only.
constexpr std::array torch_schedulers = {
    "LambdaLR",          "MultiplicativeLR", "StepLR",        "MultiStepLR",
    "ConstantLR",        "LinearLR",         "ExponentialLR", "SequentialLR",
    "CosineAnnealingLR", "ChainedScheduler", "CyclicLR",      "CosineAnnealingWarmRestarts",
    "OneCycleLR",        "PolynomialLR",     "LRScheduler",   "ReduceLROnPlateau"};

// TypeName is the name of a type in a file, with the params that it requires.
template <class Type>
struct TypeName;
template <>
struct TypeName<WarmupLR> {
  static constexpr const char* name = "WarmupLR";
  static constexpr std::array<const char*, 0> needed = {};
};
template <>
struct TypeName<WarmupDecayLR> {
  static constexpr const char* name = "WarmupDecayLR";
  static constexpr std::array needed = {"total_num_steps"};
};
template <>
struct TypeName<WarmupCosineLR> {
  static constexpr const char* name = "WarmupCosineLR";
  static constexpr std::array needed = {"total_num_steps"};
};
template <>
struct TypeName<OneCycle> {
  static constexpr const char* name = "OneCycle";
  static constexpr std::array needed = {"cycle_min_lr", "cycle_max_lr"};
};
template <>
struct TypeName<LRRangeTest> {
  static constexpr const char* name = "LRRangeTest";
  static constexpr std::array<const char*, 0> needed = {};
};

template <class Type>
bool read_type(const std::string& type, const JsonValue& params,
               std::optional<SchedulerConfig>& out) {
  if (type != TypeName<Type>::name) return false;
  for (const char* name : TypeName<Type>::needed)
    if (params.find(name) == nullptr)
      raise(ErrorKind::type_error, scheduler_source,
            "scheduler.params.{}: expected a value for {}, got none", name, type);
  for (const auto& [name, value] : *params.get<JsonValue::Object>())
    if (!is_key<Type>(name))
      raise(ErrorKind::type_error, scheduler_source,
            "scheduler.params.{}: expected a param of {}, got an unexpected one", name, type);
  Type read;
  read_section({params, "scheduler.params"}, read);
  out = read;
  return true;
}

}  // namespace

std::optional<SchedulerConfig> read_scheduler(const JsonValue& section) {
  if (section.get<JsonValue::Object>() == nullptr)
    raise(ErrorKind::attribute_error, scheduler_source, "scheduler: expected an object, got {}",
          section.text(80));
  const JsonValue* given = section.find("type");
  if (given == nullptr || given->is_null()) return {};
  std::string type;
  read_value({*given, "scheduler.type"}, {}, type);
  const JsonValue* given_params = section.find("params");
  bool has_params = given_params != nullptr && !given_params->is_null();
  const JsonValue params = has_params ? *given_params : JsonValue::object();
  expect_object({params, "scheduler.params"});
  std::optional<SchedulerConfig> scheduler;
  if (read_type<WarmupLR>(type, params, scheduler) ||
      read_type<WarmupDecayLR>(type, params, scheduler) ||
      read_type<WarmupCosineLR>(type, params, scheduler) ||
      read_type<OneCycle>(type, params, scheduler) ||
      read_type<LRRangeTest>(type, params, scheduler))
    return scheduler;
  for (const char* missing : torch_schedulers)
    if (type == missing)
      raise(ErrorKind::value_error, scheduler_source, "scheduler.type: simmesh has no {}, only {}",
            type, own_schedulers);
  raise(ErrorKind::assertion_error, scheduler_source,
        "scheduler.type: expected {}, or another of torch.optim.lr_scheduler, got {}",
        own_schedulers, given->text(80));
}

JsonValue written_scheduler(const SchedulerConfig& scheduler) {
  JsonValue section = JsonValue::object();
  std::visit(
      [&]<class Type>(const Type& of_type) {
        section.set("type", JsonValue(TypeName<Type>::name));
        section.set("params", write_section(of_type));
      },
      scheduler);
  return section;
}

}  // namespace simmesh::zero
