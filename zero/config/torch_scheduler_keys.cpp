#include "core/check/error.h"
#include "core/check/join_text.h"
#include "zero/config/config_keys.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view torch_keys_source = "zero/config";

// A count that PyTorch requires to be an integer: 1e3 isn't one.
template <class Section, class T>
ConfigKey<Section> strict_key(const std::string& name, T Section::*field, ConfigBounds bounds) {
  ConfigKey<Section> result = key(name, field, bounds);
  result.read = [read = result.read](const ConfigValue& value, Section& section) {
    if (!value.json.is_null() && value.json.get<std::int64_t>() == nullptr)
      raise(ErrorKind::value_error, torch_keys_source, "{}: expected a positive integer, got {}",
            value.path, value.json.text(80));
    read(value, section);
  };
  return result;
}

template <class Section>
ConfigKey<Section> epoch_key() {
  auto read = [](const ConfigValue& value, Section& section) {
    read_value(value, {}, section.last_epoch);
    if (section.last_epoch != -1)
      raise(ErrorKind::key_error, torch_keys_source,
            "{}: expected -1, param 'initial_lr' is not specified in param_groups[0] when resuming "
            "scheduler with another, got {}",
            value.path, section.last_epoch);
  };
  return {.name = "last_epoch", .read = read, .write = [](const Section& section) {
            return JsonValue(section.last_epoch);
          }};
}

// A param that is a function in PyTorch; null is none.
template <class Section>
ConfigKey<Section> no_function_key(const std::string& name) {
  auto read = [](const ConfigValue& value, Section&) {
    if (!value.json.is_null())
      raise(ErrorKind::type_error, torch_keys_source,
            "{}: expected no value, got {}, which is not callable", value.path,
            value.json.text(80));
  };
  return {.name = name, .read = read, .write = [](const Section&) { return JsonValue(); }};
}

void expect_word(const std::string& word, const char* name, const std::vector<std::string>& known) {
  for (const std::string& one : known)
    if (word == one) return;
  raise(ErrorKind::value_error, torch_keys_source,
        "scheduler.params.{}: expected one of {}, got {}", name, join_text(known, ", "), word);
}

}  // namespace

template <>
const std::vector<ConfigKey<StepLR>>& config_keys() {
  using Type = StepLR;
  static const std::vector<ConfigKey<Type>> keys = {key("step_size", &Type::step_size, above_zero),
                                                    key("gamma", &Type::gamma), epoch_key<Type>()};
  return keys;
}

template <>
const std::vector<ConfigKey<MultiStepLR>>& config_keys() {
  using Type = MultiStepLR;
  static const std::vector<ConfigKey<Type>> keys = {key("milestones", &Type::milestones),
                                                    key("gamma", &Type::gamma), epoch_key<Type>()};
  return keys;
}

template <>
const std::vector<ConfigKey<ConstantLR>>& config_keys() {
  using Type = ConstantLR;
  static const std::vector<ConfigKey<Type>> keys = {
      key("factor", &Type::factor, ConfigBounds{.min = 0, .max = 1}),
      key("total_iters", &Type::total_iters), epoch_key<Type>()};
  return keys;
}

template <>
const std::vector<ConfigKey<LinearLR>>& config_keys() {
  using Type = LinearLR;
  static const std::vector<ConfigKey<Type>> keys = {
      key("start_factor", &Type::start_factor, above_zero),
      key("end_factor", &Type::end_factor, ConfigBounds{.min = 0, .max = 1}),
      key("total_iters", &Type::total_iters), epoch_key<Type>()};
  return keys;
}

template <>
const std::vector<ConfigKey<ExponentialLR>>& config_keys() {
  using Type = ExponentialLR;
  static const std::vector<ConfigKey<Type>> keys = {key("gamma", &Type::gamma), epoch_key<Type>()};
  return keys;
}

template <>
const std::vector<ConfigKey<PolynomialLR>>& config_keys() {
  using Type = PolynomialLR;
  static const std::vector<ConfigKey<Type>> keys = {key("total_iters", &Type::total_iters),
                                                    key("power", &Type::power), epoch_key<Type>()};
  return keys;
}

template <>
const std::vector<ConfigKey<CosineAnnealingLR>>& config_keys() {
  using Type = CosineAnnealingLR;
  static const std::vector<ConfigKey<Type>> keys = {
      key("T_max", &Type::T_max, above_zero), key("eta_min", &Type::eta_min), epoch_key<Type>()};
  return keys;
}

template <>
const std::vector<ConfigKey<CosineAnnealingWarmRestarts>>& config_keys() {
  using Type = CosineAnnealingWarmRestarts;
  static const std::vector<ConfigKey<Type>> keys = {
      strict_key("T_0", &Type::T_0, above_zero), strict_key("T_mult", &Type::T_mult, above_zero),
      key("eta_min", &Type::eta_min), epoch_key<Type>()};
  return keys;
}

template <>
const std::vector<ConfigKey<CyclicLR>>& config_keys() {
  using Type = CyclicLR;
  static const std::vector<ConfigKey<Type>> keys = {
      key("base_lr", &Type::base_lr),
      key("max_lr", &Type::max_lr),
      key("step_size_up", &Type::step_size_up, above_zero),
      key("step_size_down", &Type::step_size_down, above_zero),
      key("mode", &Type::mode),
      key("gamma", &Type::gamma),
      key("scale_mode", &Type::scale_mode),
      key("cycle_momentum", &Type::cycle_momentum),
      key("base_momentum", &Type::base_momentum),
      key("max_momentum", &Type::max_momentum),
      no_function_key<Type>("scale_fn"),
      epoch_key<Type>()};
  return keys;
}

template <>
const std::vector<ConfigKey<OneCycleLR>>& config_keys() {
  using Type = OneCycleLR;
  static const std::vector<ConfigKey<Type>> keys = {
      key("max_lr", &Type::max_lr),
      strict_key("total_steps", &Type::total_steps, above_zero),
      strict_key("epochs", &Type::epochs, above_zero),
      strict_key("steps_per_epoch", &Type::steps_per_epoch, above_zero),
      key("pct_start", &Type::pct_start, ConfigBounds{.min = 0, .max = 1}),
      key("anneal_strategy", &Type::anneal_strategy),
      key("cycle_momentum", &Type::cycle_momentum),
      key("base_momentum", &Type::base_momentum),
      key("max_momentum", &Type::max_momentum),
      key("div_factor", &Type::div_factor, above_zero),
      key("final_div_factor", &Type::final_div_factor, above_zero),
      key("three_phase", &Type::three_phase),
      epoch_key<Type>()};
  return keys;
}

void check_scheduler_values(const SchedulerConfig& scheduler) {
  if (const auto* linear = std::get_if<LinearLR>(&scheduler); linear && linear->start_factor > 1)
    raise(ErrorKind::value_error, torch_keys_source,
          "scheduler.params.start_factor: expected a number greater than 0 and less or equal to 1, "
          "got {}",
          linear->start_factor);
  if (const auto* cyclic = std::get_if<CyclicLR>(&scheduler))
    expect_word(cyclic->mode, "mode", {"triangular", "triangular2", "exp_range"});
  const auto* cycle = std::get_if<OneCycleLR>(&scheduler);
  if (cycle == nullptr) return;
  expect_word(cycle->anneal_strategy, "anneal_strategy", {"cos", "linear"});
  if (!cycle->total_steps && !(cycle->epochs && cycle->steps_per_epoch))
    raise(ErrorKind::value_error, torch_keys_source,
          "scheduler.params: You must define either total_steps OR (epochs AND steps_per_epoch)");
}

}  // namespace simmesh::zero
