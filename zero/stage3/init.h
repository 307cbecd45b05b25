#pragma once

#include <cstdint>
#include <optional>

#include "collectives/process_group.h"
#include "core/nn/module.h"

namespace simmesh::zero {

// Init partitions each parameter over a group as soon as a module registers it, as DeepSpeed's
// zero.Init does, so that no rank ever has more of a model than its shards and one parameter. The
// values are those of the group's first member. The parameters of such a model are not whole before
// an engine of stage 3 over the same group is made from it.
//
//   std::optional<zero::Init> scope(std::in_place, dp);
//   nn::ModulePtr model = nn::build(node);
//   scope.reset();
//   zero::Engine engine = zero::initialize(*model, config, dp);
class Init {
 public:
  // Options are those of deepspeed.zero.Init.
  struct Options {
    std::optional<DType> dtype = {};  // that parameters are converted to
    std::int64_t zero_hpz_partition_size = 1;
  };

  explicit Init(const ProcessGroup& group) : Init(group, Options()) {}
  Init(const ProcessGroup& group, const Options& options);

 private:
  nn::ParameterAdoption adoption_;
};

}  // namespace simmesh::zero
