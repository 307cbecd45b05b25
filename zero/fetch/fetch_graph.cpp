#include "zero/fetch/fetch_graph.h"

#include <algorithm>

#include "core/check/error.h"

namespace simmesh::zero {

FetchGraph::FetchGraph(std::vector<FetchParam> params, std::vector<FetchModule> modules)
    : params_(std::move(params)),
      modules_(std::move(modules)),
      needs_(modules_.size()),
      externals_(modules_.size()),
      versions_(modules_.size()),
      returned_(params_.size()) {
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    for (const auto* ids : {&modules_[i].own, &modules_[i].below})
      for (ParamId id : *ids) check_param(id);
    update(ModuleId(i));
  }
}

void FetchGraph::check_module(ModuleId id) const {
  if (id < 0 || std::size_t(id) >= modules_.size())
    raise(ErrorKind::index_error, "zero/fetch_graph", "expected a module below {}, got {}",
          modules_.size(), id);
}

void FetchGraph::check_param(ParamId id) const {
  if (id < 0 || std::size_t(id) >= params_.size())
    raise(ErrorKind::index_error, "zero/fetch_graph", "expected a parameter below {}, got {}",
          params_.size(), id);
}

void FetchGraph::update(ModuleId id) {
  const FetchModule& module = modules_[std::size_t(id)];
  std::vector<ParamId> all = module.is_leaf ? module.below : module.own;
  const std::vector<ParamId>& external = externals_[std::size_t(id)];
  all.insert(all.end(), external.begin(), external.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  needs_[std::size_t(id)] = std::move(all);
}

void FetchGraph::add_external(ModuleId module, ParamId param, bool returned) {
  check_module(module);
  check_param(param);
  if (returned) returned_[std::size_t(param)] = true;
  std::vector<ParamId>& known = externals_[std::size_t(module)];
  if (std::find(known.begin(), known.end(), param) != known.end()) return;
  known.push_back(param);
  ++versions_[std::size_t(module)];
  update(module);
}

void FetchGraph::remove_external(ModuleId module, ParamId param) {
  check_module(module);
  check_param(param);
  std::vector<ParamId>& known = externals_[std::size_t(module)];
  auto found = std::find(known.begin(), known.end(), param);
  if (found == known.end())
    raise(ErrorKind::runtime_error, "zero/unregister_external_parameter",
          "expected an external parameter of module {}, got parameter {}", module, param);
  known.erase(found);
  ++versions_[std::size_t(module)];
  update(module);
}

}  // namespace simmesh::zero
