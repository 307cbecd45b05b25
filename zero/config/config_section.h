#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/check/error.h"
#include "zero/config/config.h"
#include "zero/config/config_value.h"

namespace simmesh::zero {

// ConfigKey is one key of a section: its names, how it is read into the section's struct, and how
// it is written. An alias is the name with the prefix stage3_; an old name still works.
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

// is_key is true if a section has a key of that name.
template <class Section>
bool is_key(std::string_view name) {
  for (const ConfigKey<Section>& key : config_keys<Section>())
    if (key.is_named(name)) return true;
  return false;
}

// read_section reads an object into a section, key after key as the section lists them. Raises a
// TypeError for a value that isn't an object, a ValueError for an unknown key, and for a key that
// comes under two names.
template <class Section>
void read_section(const ConfigValue& value, Section& section);

// write_section returns all keys of a section, by their names.
template <class Section>
JsonValue write_section(const Section& section);

inline constexpr ConfigBounds not_negative{.min = 0};
inline constexpr ConfigBounds above_zero{.min = 0, .is_open = true};

// IsSection selects how a field is read: a section by its keys, everything else by its type.
template <class T>
struct IsSection : std::false_type {};
template <>
struct IsSection<OffloadParam> : std::true_type {};
template <>
struct IsSection<OffloadOptimizer> : std::true_type {};
template <>
struct IsSection<LeafModule> : std::true_type {};

// read_field is read_section or read_value; a null is an absent value. Among the sections only
// leaf_module raises a TypeError where it isn't an object, and takes a null, as in DeepSpeed.
template <class T>
void read_field(const ConfigValue& value, const ConfigBounds& bounds, T& out) {
  if constexpr (IsSection<T>::value) {
    constexpr bool is_model = !std::is_same_v<T, LeafModule>;
    if (!is_model && value.json.is_null()) return;
    if (is_model && value.json.get<JsonValue::Object>() == nullptr)
      raise(ErrorKind::value_error, "zero/config", "{}: expected an object, got {}", value.path,
            value.json.text(80));
    read_section(value, out);
  } else {
    read_value(value, bounds, out);
  }
}

template <class T>
void read_field(const ConfigValue& value, const ConfigBounds& bounds, std::optional<T>& out) {
  out.reset();
  if (!value.json.is_null()) read_field(value, bounds, out.emplace());
}

// write_field is the inverse of read_field.
template <class T>
JsonValue write_field(const T& field) {
  if constexpr (IsSection<T>::value)
    return write_section(field);
  else
    return written(field);
}

template <class T>
JsonValue write_field(const std::optional<T>& field) {
  return field ? write_field(*field) : JsonValue();
}

// key is a key that is read into a field of a section, with the limits of a number.
template <class Section, class T>
ConfigKey<Section> key(const std::string& name, T Section::*field, ConfigBounds bounds = {}) {
  return {.name = name,
          .read = [field, bounds](const ConfigValue& value,
                                  Section& section) { read_field(value, bounds, section.*field); },
          .write = [field](const Section& section) { return write_field(section.*field); }};
}

template <class Section>
void read_section(const ConfigValue& value, Section& section) {
  expect_object(value);
  const JsonValue::Object& object = *value.json.get<JsonValue::Object>();
  std::size_t known = 0;
  for (const ConfigKey<Section>& key : config_keys<Section>()) {
    const std::string* taken = nullptr;
    for (const auto& [name, field] : object) {
      if (!key.is_named(name)) continue;
      if (taken != nullptr)
        raise(ErrorKind::value_error, "zero/config", "expected {}.{} once, got it as {} and as {}",
              value.path, key.name, *taken, name);
      taken = &name;
      ++known;
      key.read({field, value.path + "." + name}, section);
    }
  }
  if (known == object.size()) return;
  for (const auto& [name, field] : object)
    if (!is_key<Section>(name))
      raise(ErrorKind::value_error, "zero/config",
            "{}.{}: expected a known key, got one that is not permitted", value.path, name);
}

template <class Section>
JsonValue write_section(const Section& section) {
  JsonValue result = JsonValue::object();
  for (const ConfigKey<Section>& key : config_keys<Section>())
    result.set(key.name, key.write(section));
  return result;
}

}  // namespace simmesh::zero
