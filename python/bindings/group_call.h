#pragma once

#include <optional>

#include "collectives/process_group.h"
#include "python/bindings/as_rank.h"

namespace simmesh::python {

// GroupOrWorld is how Python names a group: None is that of all ranks, as in PyTorch.
using GroupOrWorld = std::optional<ProcessGroup>;

// in_group calls f with the group and the place in the Python program, as as_rank does.
template <class F>
auto in_group(const char* function, const GroupOrWorld& group, F&& f) {
  return as_rank(function, [&](const CallSite& site) {
    return f(group ? *group : ProcessGroup::world(), site);
  });
}

}  // namespace simmesh::python
