#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "collectives/comm_debug_mode.h"
#include "sharding/debug/module_tracker.h"

namespace simmesh {

// ModuleCommCounts counts the collectives of its rank by the module in which they begin, forward
// and backward apart, until it ends.
//
//   ModuleCommCounts counts(model);
//   backward(loss(model(x)));
//   counts.of({"blocks.0.mlp", true, false}).at("all_reduce");   // in its backward
//   fmt::print("{}", to_string(counts));
class ModuleCommCounts {
 public:
  using Counts = std::map<std::string, std::uint64_t>;

  explicit ModuleCommCounts(nn::Module& model);

  // by_module returns the calls of each operation, by its name.
  const std::map<ModuleTracker::Where, Counts>& by_module() const { return by_module_; }
  // of returns the counts of one place; empty where there are none.
  Counts of(const ModuleTracker::Where& where) const;

 private:
  ModuleTracker tracker_;
  std::map<ModuleTracker::Where, Counts> by_module_;
  CommDebugMode mode_;
};

// to_string returns a line for each place: "blocks.0.mlp backward: all_reduce 1".
std::string to_string(const ModuleCommCounts& counts);

}  // namespace simmesh
