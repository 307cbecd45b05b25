#include "fsdp/communication/comm_context.h"

#include <algorithm>

namespace simmesh::fsdp {

std::int64_t CommContext::record_forward(FSDPParamGroup& group, const FSDPState& state) {
  forwards_.push_back({&group, &state});
  return std::int64_t(forwards_.size()) - 1;
}

FSDPParamGroup* CommContext::group_at(std::int64_t index) const {
  bool is_inside = index >= 0 && index < std::int64_t(forwards_.size());
  return is_inside ? forwards_[std::size_t(index)].group : nullptr;
}

void CommContext::forget_forwards(const std::vector<FSDPState*>& states) {
  for (Forward& forward : forwards_)
    if (std::find(states.begin(), states.end(), forward.state) != states.end())
      forward.group = nullptr;
  auto is_used_up = [](const Forward& forward) { return forward.group == nullptr; };
  if (std::all_of(forwards_.begin(), forwards_.end(), is_used_up)) forwards_.clear();
}

bool CommContext::has_forwards_besides(const std::vector<FSDPState*>& states) const {
  return std::any_of(forwards_.begin(), forwards_.end(), [&](const Forward& forward) {
    return forward.group && std::find(states.begin(), states.end(), forward.state) == states.end();
  });
}

}  // namespace simmesh::fsdp
