#include "sharding/debug/module_comm_counts.h"

#include <fmt/format.h>

namespace simmesh {

ModuleCommCounts::ModuleCommCounts(nn::Module& model)
    : tracker_(model), mode_([this](const CollectiveCall& call) {
        ++by_module_[tracker_.where()][name_of(call.op)];
      }) {}

ModuleCommCounts::Counts ModuleCommCounts::of(const ModuleTracker::Where& where) const {
  auto found = by_module_.find(where);
  return found == by_module_.end() ? Counts() : found->second;
}

std::string to_string(const ModuleCommCounts& counts) {
  std::string text;
  for (const auto& [where, calls] : counts.by_module()) {
    text += to_string(where) + ":";
    for (const auto& [name, count] : calls) text += fmt::format(" {} {}", name, count);
    text += "\n";
  }
  return text;
}

}  // namespace simmesh
