#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "zero/fetch/fetch_graph.h"

namespace simmesh::zero {

class Stage3;

// GatheredParameters makes parameters that stage 3 partitions whole for a scope, in which programs
// read or change them. All members of the group open and close it together. With a modifier_rank, a
// member of the group, the values that this rank wrote become the values everywhere; without one
// changes are lost, and with enable_sanity_checks they raise a RuntimeError on all ranks. Modules
// without stage 3 need no gathering, so the scope does nothing for them.
//
//   {
//     zero::GatheredParameters whole(model, 0);
//     if (group.rank() == 0) nn::constant_(weight, 1.0);
//   }
class GatheredParameters {
 public:
  // Gathers all parameters of a module and of those below it, or one parameter of it by its dotted
  // name. Raises a RuntimeError where another scope holds one of them.
  explicit GatheredParameters(nn::Module& module, std::optional<std::int64_t> modifier_rank = {});
  GatheredParameters(nn::Module& module, const std::vector<std::string>& names,
                     std::optional<std::int64_t> modifier_rank = {});
  // Ends the scope; only locally while an exception unwinds.
  ~GatheredParameters() noexcept(false);
  GatheredParameters(const GatheredParameters&) = delete;
  GatheredParameters& operator=(const GatheredParameters&) = delete;

 private:
  void open(std::vector<ParamId> params);

  Stage3* stage_ = nullptr;
  std::vector<ParamId> params_;
  std::optional<std::int64_t> modifier_rank_;
  int exceptions_;
};

// empty_partition_cache frees everything that stage 3 has gathered of a module's model, between
// iterations; modules gather it again when they need it.
void empty_partition_cache(nn::Module& module);

}  // namespace simmesh::zero
