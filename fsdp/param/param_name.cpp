#include "fsdp/param/param_name.h"

#include <algorithm>

#include "core/check/join_text.h"

namespace simmesh::fsdp {

namespace {

// Finds a module below another one and puts the names on the way into the path, the last one first.
bool find_path(const nn::Module& module, const nn::Module& from, std::vector<std::string>& path) {
  if (&from == &module) return true;
  for (const auto& [name, child] : from.children())
    if (find_path(module, *child, path)) {
      path.push_back(name);
      return true;
    }
  return false;
}

}  // namespace

std::string path_of(const nn::Module& module, nn::Module& model) {
  std::vector<std::string> names;
  if (!find_path(module, model, names)) return "?";
  std::reverse(names.begin(), names.end());
  return join_text(names, ".");
}

std::string name_of(const FSDPParam& param, nn::Module& model) {
  std::string path = path_of(*param.slots().owner.module, model);
  return path.empty() ? param.slots().owner.name : path + "." + param.slots().owner.name;
}

}  // namespace simmesh::fsdp
