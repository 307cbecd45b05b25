#include "gate/tables/mesh.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/check.h"
#include "core/check/join_text.h"

namespace simmesh {

namespace {

bool are_distinct(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].empty() || std::count(names.begin(), names.end(), names[i]) > 1) return false;
  return true;
}

}  // namespace

std::size_t GateLayout::index_of(const std::string& name) const {
  auto found = std::find(names.begin(), names.end(), name);
  SIMMESH_CHECK(found != names.end(), "expected a dim of the mesh, got '{}'", name);
  return std::size_t(found - names.begin());
}

std::int64_t GateLayout::stride_of(const std::string& name) const {
  std::int64_t stride = 1;
  for (std::size_t dim = index_of(name) + 1; dim < shape.size(); ++dim) stride *= shape[dim];
  return stride;
}

GateLayout read_gate_layout(GateTable& table, std::string_view sizes_key, std::int64_t ranks_max) {
  GateLayout layout;
  layout.shape = table.sizes(sizes_key, layout.shape, {1, ranks_max});
  std::vector<std::string> names = table.texts("names");
  if (layout.shape.empty()) table.reject(sizes_key, "at least one size");
  std::int64_t ranks = 1;
  for (std::int64_t size : layout.shape) ranks = std::min(ranks * size, ranks_max + 1);
  if (ranks > ranks_max) table.reject(sizes_key, fmt::format("at most {} ranks", ranks_max));
  if (names.empty()) {
    layout.names.clear();
    for (std::size_t i = 0; i < layout.shape.size(); ++i)
      layout.names.push_back(layout.shape.size() == 1 ? "dp" : fmt::format("dim{}", i));
    return layout;
  }
  if (names.size() != layout.shape.size())
    table.reject_value("names", fmt::format("one name per size, {} in all", layout.shape.size()),
                       fmt::format("{}", names.size()));
  if (!are_distinct(names)) table.reject_value("names", "different names", join_text(names, " "));
  layout.names = names;
  return layout;
}

}  // namespace simmesh
