#include "core/ops/registry/registry.h"

#include <algorithm>
#include <vector>

#include "core/ops/op_list.h"

namespace simmesh {

namespace {

std::vector<const Op*> sorted_ops() {
  auto ops = all_ops();
  std::vector<const Op*> sorted(ops.begin(), ops.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Op* a, const Op* b) { return a->name < b->name; });
  return sorted;
}

}  // namespace

gsl::span<const Op* const> all_ops() {
  static const OpList ops = collected_ops();
  return ops.all();
}

const Op* find_op(std::string_view name) {
  static const std::vector<const Op*> sorted = sorted_ops();
  auto found =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [](const Op* op, std::string_view wanted) { return op->name < wanted; });
  return found != sorted.end() && (*found)->name == name ? *found : nullptr;
}

}  // namespace simmesh
