#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "zero/config_value.h"

namespace simmesh::zero {

// ConfigKey is one key of a section: its names, how it is read into the section's struct, and how
// it is written. An alias is the name with the prefix stage3_, an old name one that still works.
template <class Section>
struct ConfigKey {
  std::string name;
  std::string alias = {};
  std::string old_name = {};
  std::function<void(const ConfigValue&, Section&)> read;
  std::function<JsonValue(const Section&)> write;

  bool is_named(std::string_view given) const {
    return given == name || (!alias.empty() && given == alias) ||
           (!old_name.empty() && given == old_name);
  }
};

// config_keys returns the keys of a section.
template <class Section>
const std::vector<ConfigKey<Section>>& config_keys();
template <>
const std::vector<ConfigKey<ZeroOptimization>>& config_keys();
template <>
const std::vector<ConfigKey<OffloadParam>>& config_keys();
template <>
const std::vector<ConfigKey<OffloadOptimizer>>& config_keys();
template <>
const std::vector<ConfigKey<LeafModule>>& config_keys();
template <>
const std::vector<ConfigKey<ZeroppLocoParam>>& config_keys();
template <>
const std::vector<ConfigKey<Fp16>>& config_keys();
template <>
const std::vector<ConfigKey<Bf16>>& config_keys();
template <>
const std::vector<ConfigKey<DataTypes>>& config_keys();
template <>
const std::vector<ConfigKey<OptimizerConfig>>& config_keys();
// The keys outside of all sections.
template <>
const std::vector<ConfigKey<Config>>& config_keys();

// read_section reads an object into a section. Raises a ValueError for an unknown key, and for a
// key that comes under two names.
template <class Section>
void read_section(const ConfigValue& value, Section& section);

// write_section returns all keys of a section, by their names.
template <class Section>
JsonValue write_section(const Section& section);

}  // namespace simmesh::zero
