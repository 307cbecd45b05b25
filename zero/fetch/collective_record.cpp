#include "zero/fetch/collective_record.h"

#include "zero/fetch/event.h"

namespace simmesh::zero {

void record_collective(std::string_view name, const Tensor& input, const ProcessGroup& group,
                       const ProcessGroup& all) {
  if (!is_observed()) return;
  Event event{.kind = EventKind::collective,
              .name = name,
              .numel = input.numel(),
              .dtype = to_string(input.dtype())};
  if (group.size() != all.size())
    for (std::int64_t i = 0; i < group.size(); ++i) event.ranks.push_back(group.members()[i]);
  emit(event);
}

}  // namespace simmesh::zero
