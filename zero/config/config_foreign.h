#pragma once

#include <functional>
#include <string>
#include <vector>

#include "zero/config/config_section.h"

namespace simmesh::zero {

// ForeignKey is a key of a section that has no place in Config, as DeepSpeed's class declares it.
struct ForeignKey {
  std::string name;
  std::function<void(const ConfigValue&)> check;
  std::string alias = {};
};

// ForeignSection is a section whose keys DeepSpeed checks, and which changes no bit of a run here.
// One that DeepSpeed reads into a class of another section reports all faults as ValueErrors; of
// the others, one that isn't an object is a TypeError.
struct ForeignSection {
  std::string path;
  std::vector<ForeignKey> keys;
  bool is_nested = false;
};

// foreign_sections returns those of DeepSpeed 0.19.8.
const std::vector<ForeignSection>& foreign_sections();

// check_foreign_sections judges these sections of a configuration as DeepSpeed does: a ValueError
// names an unknown key, and one whose value is of a wrong type or out of range. Values of "auto"
// are defaults. The path selects one section; an empty one all.
void check_foreign_sections(const JsonValue& config, std::string_view path = {});

// value_at returns the value at a path such as "zero_optimization.stage"; null where a section on
// the way is missing.
const JsonValue* value_at(const JsonValue& config, std::string_view path);

}  // namespace simmesh::zero
