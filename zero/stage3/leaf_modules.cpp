#include "zero/stage3/leaf_modules.h"

#include <algorithm>
#include <boost/core/demangle.hpp>
#include <typeinfo>

#include "core/check/error.h"
#include "core/nn/containers.h"
#include "zero/stage3/module_state.h"

namespace simmesh::zero {

namespace {

constexpr std::int64_t leaf_numel_max = 1'000'000'000;

std::string class_of(const nn::Module& module) {
  return boost::core::demangle(typeid(module).name());
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_class(const nn::Module& module, const std::string& name) {
  std::string full = class_of(module);
  return full == name || ends_with(full, "::" + name);
}

bool is_default_class(const std::string& name) {
  const std::vector<std::string>& defaults = LeafModule::default_classes();
  return std::find(defaults.begin(), defaults.end(), name) != defaults.end();
}

// Marks the modules for which `is_it` is true for one of the names; each name must match some
// module.
template <class IsIt>
void mark(nn::Module& root, const std::vector<std::string>& names, const char* what, IsIt is_it,
          std::vector<nn::Module*>& marked) {
  for (const std::string& wanted : names) {
    bool is_met = false;
    for (auto& [name, module] : root.named_modules()) {
      if (!is_it(name, *module, wanted)) continue;
      is_met = true;
      set_z3_leaf_module(*module);
      if (std::find(marked.begin(), marked.end(), module) == marked.end()) marked.push_back(module);
    }
    if (!is_met && !is_default_class(wanted))
      raise(ErrorKind::value_error, "zero/leaf_module", "expected a module of the {} {}, got none",
            what, wanted);
  }
}

struct Granularity {
  std::int64_t layers = 0;
  std::int64_t numel = 0;
};

bool is_container(const nn::Module& module) {
  return typeid(module) == typeid(nn::ModuleList) || typeid(module) == typeid(nn::Sequential);
}

Granularity granularity_of(nn::Module& module) {
  if (module.named_parameters().empty()) return {};
  Granularity total;
  for (const nn::ParameterSlot& slot : module.slots())
    if (slot.tensor.is_defined()) total.numel += slot.tensor.numel();
  if (module.children().empty()) return {1, total.numel};
  for (const auto& [name, child] : module.children()) {
    Granularity below = granularity_of(*child);
    total.layers += below.layers;
    total.numel += below.numel;
  }
  if (!is_container(module)) ++total.layers;
  return total;
}

void mark_fine(nn::Module& module, std::int64_t threshold, std::vector<nn::Module*>& marked) {
  if (module.children().empty()) return;
  Granularity size = granularity_of(module);
  if (size.numel == 0) return;
  if (!is_container(module) && size.numel <= leaf_numel_max &&
      size.numel / size.layers <= threshold) {
    set_z3_leaf_module(module);
    marked.push_back(&module);
    return;
  }
  for (const auto& [name, child] : module.children()) mark_fine(*child, threshold, marked);
}

}  // namespace

void set_z3_leaf_module(nn::Module& module, bool leaf) { ModuleState::of(module).is_leaf = leaf; }

bool z3_leaf_module(const nn::Module& module) {
  const ModuleState* state = ModuleState::find(module);
  return state && state->is_leaf;
}

std::vector<nn::Module*> set_z3_leaf_modules(nn::Module& root, const LeafModule& which) {
  std::vector<nn::Module*> marked;
  mark(
      root, which.classes, "class",
      [](const std::string&, const nn::Module& module, const std::string& wanted) {
        return is_class(module, wanted);
      },
      marked);
  mark(
      root, which.names, "name",
      [](const std::string& name, const nn::Module&, const std::string& wanted) {
        return name == wanted;
      },
      marked);
  mark(
      root, which.name_suffixes, "name's end",
      [](const std::string& name, const nn::Module&, const std::string& wanted) {
        return ends_with(name, wanted);
      },
      marked);
  return marked;
}

std::vector<nn::Module*> set_z3_leaf_modules_by_granularity(nn::Module& root,
                                                            std::int64_t threshold) {
  std::vector<nn::Module*> marked;
  if (threshold > 0) mark_fine(root, threshold, marked);
  return marked;
}

}  // namespace simmesh::zero
