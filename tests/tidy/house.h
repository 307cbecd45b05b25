#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace simmesh::tidy {

// house is the order of the rooms, which are the folders that hold sources. A file may include
// files of its own room and of the rows above it. Rooms in one row may not include each other.
inline const std::vector<std::vector<std::string_view>> house = {
    {"core/check"},
    {"core/release", "core/shards", "core/findings", "core/page"},
    {"core/trace"},
    {"core/memory"},
    {"core/clock"},
    {"core/engine/schedules", "core/engine/fibers"},
    {"core/engine/ranks"},
    {"core/engine/options"},
    {"core/engine/spread"},
    {"core/engine/spread/mpi"},
    {"core/engine/reports"},
    {"core/engine/seats"},
    {"core/engine/run"},
    {"core/engine/search"},
    {"core/engine"},
    {"core/kernels"},
    {"core/tensor"},
    {"core/arithmetic/sums"},
    {"core/arithmetic/reductions", "core/arithmetic/products"},
    {"core/arithmetic"},
    {"core/arithmetic/companions"},
    {"core/ops"},
    {"core/ops/shapes"},
    {"core/ops/kernels"},
    {"core/ops/elementwise"},
    {"core/ops/indexing"},
    {"core/ops/reductions"},
    {"core/ops/matrices"},
    {"core/ops/random"},
    {"core/ops/neural"},
    {"core/ops/functions"},
    {"core/ops/registry"},
    {"core/samples"},
    {"core/gradients"},
    {"core/gradients/shapes", "core/gradients/elementwise", "core/gradients/indexing",
     "core/gradients/reductions", "core/gradients/matrices", "core/gradients/random",
     "core/gradients/neural"},
    {"core/autograd"},
    {"core/nn"},
    {"core/optim"},
    {"core/optim/matrix"},
    {"mesh"},
    {"collectives/results", "collectives/spread"},
    {"collectives"},
    {"testing"},
    {"sharding/placement", "sharding/typed"},
    {"sharding/redistribute"},
    {"sharding/dtensor"},
    {"sharding/picture", "sharding/paddle", "sharding/debug"},
    {"sharding/paddle/spmd"},
    {"sharding/strategies"},
    {"sharding/strategies/shapes", "sharding/strategies/elementwise"},
    {"sharding/strategies/indexing", "sharding/strategies/reductions",
     "sharding/strategies/matrices", "sharding/strategies/random", "sharding/strategies/neural"},
    {"sharding/propagation"},
    {"sharding/api", "sharding/validate", "sharding/optim"},
    {"sharding/parallel", "sharding/rules"},
    {"ddp", "fsdp/communication", "zero/config"},
    {"fsdp/param", "zero/fetch"},
    {"fsdp/param_group", "zero/engine"},
    {"fsdp/state", "zero/stage12"},
    {"fsdp/state_dict", "zero/stage3"},
    {"fsdp"},
    {"pipeline/schedule"},
    {"pipeline/lowering", "pipeline/chunks"},
    {"pipeline/analysis"},
    {"pipeline/stage"},
    {"pipeline/runtime"},
    {"checkpoint/store"},
    {"checkpoint/catalog"},
    {"checkpoint/format"},
    {"checkpoint/torch_file", "checkpoint/safetensors", "checkpoint/mapping", "checkpoint/paddle"},
    {"checkpoint/native", "checkpoint/dcp", "checkpoint/deepspeed", "checkpoint/hugging_face"},
    {"checkpoint/pytorch"},
    {"checkpoint/read"},
    {"checkpoint/save_load"},
    {"checkpoint/zero_cost", "checkpoint/tools"},
    {"replay/trace"},
    {"replay/read", "replay/memory"},
    {"replay/job"},
    {"replay/timeline", "replay/validate"},
    {"replay/analysis"},
    {"replay/run"},
    {"replay/report"},
    {"replay/record"},
    {"replay/write"},
    {"replay/chakra"},
    {"training"},
    {"training/pipelined", "verify/verdict"},
    {"verify"},
    {"verify/falsify", "verify/pytorch", "verify/fsdp", "verify/zero", "verify/pipeline",
     "verify/replay"},
    {"verify/checkpoint", "verify/paddle", "verify/pytorch/ops"},
    {"verify/pytorch/ops/shapes", "verify/pytorch/ops/elementwise", "verify/pytorch/ops/indexing",
     "verify/pytorch/ops/reductions", "verify/pytorch/ops/matrices", "verify/pytorch/ops/random",
     "verify/pytorch/ops/neural", "verify/pytorch/ops/functions"},
    {"verify/pytorch/modules", "verify/typed"},
    {"gate/tables", "gate/records"},
    {"gate"},
    {"gate/checks", "gate/explore"},
    {"gate/compose"},
    {"gate/page"},
    {"tools/crew"},
    {"tools"},
    {"python/bindings/casts", "python/bindings/torch"},
    {"python/bindings"},
};

// apart lists folders none of which includes another, whatever the order of their rooms.
inline const std::vector<std::vector<std::string_view>> apart = {{"ddp", "fsdp", "zero"}};

// is_below is true if a path is in a folder: "core/check/error.h" is in "core/check" and in "core".
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

// is_library is true if a path belongs to the libraries: everything in the house except the command
// and the Python module.
inline bool is_library(std::string_view path) {
  return house_row(path).has_value() && !is_below(path, "tools") && !is_below(path, "python");
}

}  // namespace simmesh::tidy
