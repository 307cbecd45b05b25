#include "fsdp/named_params.h"

#include <algorithm>

#include "fsdp/state/state.h"

namespace simmesh::fsdp {

namespace {

bool holds(const FSDPParam& param, const nn::Module* module, const std::string& name) {
  auto is_it = [&](const ParameterSlots::Slot& slot) {
    return slot.module == module && slot.name == name;
  };
  const auto& aliases = param.slots().aliases;
  return is_it(param.slots().owner) || std::any_of(aliases.begin(), aliases.end(), is_it);
}

}  // namespace

std::vector<FSDPParamGroup*> groups_of(nn::Module& model) {
  std::vector<FSDPParamGroup*> groups;
  for (auto& [name, module] : model.named_modules()) {
    auto state = FSDPState::of(*module);
    if (!state) continue;
    for (auto& group : state->groups())
      if (std::find(groups.begin(), groups.end(), group.get()) == groups.end())
        groups.push_back(group.get());
  }
  return groups;
}

std::vector<NamedParam> named_params(nn::Module& model) {
  std::vector<NamedParam> named;
  std::vector<FSDPParamGroup*> groups = groups_of(model);
  for (auto& [path, module] : model.named_modules())
    for (const nn::ParameterSlot& slot : module->slots())
      for (FSDPParamGroup* group : groups)
        for (auto& param : group->params())
          if (holds(*param, module, slot.name))
            named.push_back(
                {path.empty() ? slot.name : path + "." + slot.name, param.get(), group});
  return named;
}

}  // namespace simmesh::fsdp
