#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace simmesh::tidy {

// house is the order of the folders. A file may include files of its own folder and of the rows
// above it. Folders in one row may not include each other.
inline const std::vector<std::vector<std::string_view>> house = {
    {"core/check"},
    {"core/release"},
    {"core/trace"},
    {"core/memory"},
    {"core/clock"},
    {"core/engine"},
    {"core/kernels"},
    {"core/tensor"},
    {"core/arithmetic"},
    {"core/ops"},
    {"core/ops/shapes"},
    {"core/ops/elementwise"},
    {"core/ops/indexing"},
    {"core/ops/reductions"},
    {"core/ops/matrices"},
    {"core/ops/random"},
    {"core/ops/neural"},
    {"core/ops/registry"},
    {"core/samples"},
    {"core/gradients"},
    {"core/autograd"},
    {"core/nn"},
    {"core/optim"},
    {"mesh"},
    {"collectives"},
    {"testing"},
    {"sharding"},
    {"fsdp", "zero"},
    {"checkpoint"},
    {"replay"},
    {"training"},
    {"verify"},
    {"gate"},
    {"tools"},
    {"python/bindings"},
};

// is_below says whether a path is in a folder: "core/check/error.h" is in "core/check" and in
// "core".
inline bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.substr(0, folder.size()) == folder &&
         path[folder.size()] == '/';
}

// HouseFolder is a folder of the house and its row.
struct HouseFolder {
  std::string_view path;
  std::size_t row;
};

// find_house_folder returns the innermost folder of the house that a path is in, nullopt if there
// is none.
inline std::optional<HouseFolder> find_house_folder(std::string_view path) {
  std::optional<HouseFolder> found;
  for (std::size_t row = 0; row < house.size(); ++row)
    for (std::string_view folder : house[row])
      if (is_below(path, folder) && (!found || folder.size() > found->path.size()))
        found = HouseFolder{folder, row};
  return found;
}

// house_row returns the row of the folder that a path is in, nullopt if there is none.
inline std::optional<std::size_t> house_row(std::string_view path) {
  std::optional<HouseFolder> found = find_house_folder(path);
  return found ? std::optional(found->row) : std::nullopt;
}

// house_folder returns the folder of the house that a path is in, empty if there is none.
inline std::string_view house_folder(std::string_view path) {
  std::optional<HouseFolder> found = find_house_folder(path);
  return found ? found->path : std::string_view();
}

// is_library says whether a path belongs to the libraries: everything in the house except the
// command and the Python module.
inline bool is_library(std::string_view path) {
  return house_row(path).has_value() && !is_below(path, "tools") && !is_below(path, "python");
}

}  // namespace simmesh::tidy
