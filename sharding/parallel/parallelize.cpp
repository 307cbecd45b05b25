#include "sharding/parallel/parallelize.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh {

namespace {

void require_one_dim(const DeviceMesh& mesh) {
  if (mesh.ndim() == 1) return;
  raise(ErrorKind::value_error, "sharding/parallelize",
        "expected a mesh of one dim, such as mesh[\"tp\"], got one of shape {}",
        to_string(DimSpan(mesh.shape())));
}

void find_at(nn::Module& module, const std::string& path, std::vector<nn::Module*>& found) {
  if (path.empty()) {
    found.push_back(&module);
    return;
  }
  std::size_t dot = path.find('.');
  std::string first = path.substr(0, dot);
  std::string rest = dot == std::string::npos ? "" : path.substr(dot + 1);
  for (const auto& [name, child] : module.children())
    if (fnmatch(first.c_str(), name.c_str(), 0) == 0) find_at(*child, rest, found);
}

std::vector<std::string> paths_of(nn::Module& module) {
  std::vector<std::string> paths;
  for (const auto& [path, found] : module.named_modules())
    if (!path.empty()) paths.push_back(path);
  return paths;
}

}  // namespace

std::vector<nn::Module*> modules_at(nn::Module& module, const std::string& path) {
  std::vector<nn::Module*> found;
  find_at(module, path, found);
  return found;
}

void parallelize(nn::Module& module, const DeviceMesh& mesh, const ParallelizePlan& plan) {
  require_one_dim(mesh);
  std::vector<std::vector<nn::Module*>> modules;
  for (const auto& [path, style] : plan) {
    modules.push_back(modules_at(module, path));
    if (modules.back().empty())
      raise(ErrorKind::value_error, "sharding/parallelize",
            "the plan names '{}', and there is no such module; there are: {}", path,
            join_text(paths_of(module), ", "));
  }
  for (std::size_t i = 0; i < plan.size(); ++i)
    for (nn::Module* one : modules[i]) plan[i].second.apply(*one, mesh);
}

void parallelize(nn::Module& module, const DeviceMesh& mesh, const ParallelStyle& style) {
  require_one_dim(mesh);
  style.apply(module, mesh);
}

}  // namespace simmesh
