#include "core/check/error.h"
#include "zero/config/config_keys.h"

namespace simmesh::zero {

namespace {

constexpr ConfigBounds from_the_start{.min = -1};

// A count that DeepSpeed requires to be an integer: 1e3 isn't one.
template <class Section>
ConfigKey<Section> count_key(const std::string& name, std::int64_t Section::*field,
                             const ConfigBounds& bounds) {
  ConfigKey<Section> result = key(name, field, bounds);
  result.read = [read = result.read](const ConfigValue& value, Section& section) {
    if (value.json.get<std::int64_t>() == nullptr)
      raise(ErrorKind::value_error, "zero/config", "{}: expected an integer, got {}", value.path,
            value.json.text(80));
    read(value, section);
  };
  return result;
}

// The keys that WarmupLR and WarmupDecayLR share.
template <class Section>
std::vector<ConfigKey<Section>> warmup_keys() {
  return {key("warmup_min_lr", &Section::warmup_min_lr),
          key("warmup_max_lr", &Section::warmup_max_lr),
          count_key("warmup_num_steps", &Section::warmup_num_steps, above_zero),
          key("warmup_type", &Section::warmup_type),
          key("last_batch_iteration", &Section::last_batch_iteration, from_the_start)};
}

}  // namespace

template <>
const std::vector<ConfigKey<WarmupLR>>& config_keys() {
  static const std::vector<ConfigKey<WarmupLR>> keys = warmup_keys<WarmupLR>();
  return keys;
}

template <>
const std::vector<ConfigKey<WarmupDecayLR>>& config_keys() {
  static const std::vector<ConfigKey<WarmupDecayLR>> keys = [] {
    auto all = warmup_keys<WarmupDecayLR>();
    all.push_back(key("total_num_steps", &WarmupDecayLR::total_num_steps));
    return all;
  }();
  return keys;
}

template <>
const std::vector<ConfigKey<WarmupCosineLR>>& config_keys() {
  using Cosine = WarmupCosineLR;
  static const std::vector<ConfigKey<Cosine>> keys = {
      key("total_num_steps", &Cosine::total_num_steps),
      key("warmup_min_ratio", &Cosine::warmup_min_ratio),
      count_key("warmup_num_steps", &Cosine::warmup_num_steps, above_zero),
      key("cos_min_ratio", &Cosine::cos_min_ratio),
      key("warmup_type", &Cosine::warmup_type),
      key("last_batch_iteration", &Cosine::last_batch_iteration, from_the_start),
  };
  return keys;
}

template <>
const std::vector<ConfigKey<OneCycle>>& config_keys() {
  static const std::vector<ConfigKey<OneCycle>> keys = {
      key("cycle_min_lr", &OneCycle::cycle_min_lr),
      key("cycle_max_lr", &OneCycle::cycle_max_lr),
      key("decay_lr_rate", &OneCycle::decay_lr_rate),
      key("cycle_first_step_size", &OneCycle::cycle_first_step_size, above_zero),
      key("cycle_second_step_size", &OneCycle::cycle_second_step_size, not_negative),
      key("cycle_first_stair_count", &OneCycle::cycle_first_stair_count),
      key("cycle_second_stair_count", &OneCycle::cycle_second_stair_count),
      key("decay_step_size", &OneCycle::decay_step_size),
      key("cycle_momentum", &OneCycle::cycle_momentum),
      key("cycle_min_mom", &OneCycle::cycle_min_mom),
      key("cycle_max_mom", &OneCycle::cycle_max_mom),
      key("decay_mom_rate", &OneCycle::decay_mom_rate),
      key("last_batch_iteration", &OneCycle::last_batch_iteration, from_the_start),
  };
  return keys;
}

template <>
const std::vector<ConfigKey<LRRangeTest>>& config_keys() {
  using Range = LRRangeTest;
  static const std::vector<ConfigKey<Range>> keys = {
      key("lr_range_test_min_lr", &Range::lr_range_test_min_lr),
      count_key("lr_range_test_step_size", &Range::lr_range_test_step_size, above_zero),
      key("lr_range_test_step_rate", &Range::lr_range_test_step_rate),
      key("lr_range_test_staircase", &Range::lr_range_test_staircase),
      key("last_batch_iteration", &Range::last_batch_iteration, from_the_start),
  };
  return keys;
}

}  // namespace simmesh::zero
