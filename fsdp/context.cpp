#include "fsdp/context.h"

#include <algorithm>

#include "fsdp/param_group.h"
#include "fsdp/state.h"

namespace simmesh::fsdp {

std::int64_t CommContext::record(FSDPParamGroup& group) {
  post_forward_order_.push_back(&group);
  return std::int64_t(post_forward_order_.size()) - 1;
}

FSDPParamGroup* CommContext::at(std::int64_t index) const {
  bool is_inside = index >= 0 && index < std::int64_t(post_forward_order_.size());
  return is_inside ? post_forward_order_[std::size_t(index)] : nullptr;
}

void CommContext::forget(const StateContext& root) {
  auto& states = root.all_states;
  for (FSDPParamGroup*& group : post_forward_order_)
    if (group && std::find(states.begin(), states.end(), &group->state()) != states.end())
      group = nullptr;
  auto is_null = [](const FSDPParamGroup* group) { return group == nullptr; };
  if (std::all_of(post_forward_order_.begin(), post_forward_order_.end(), is_null))
    post_forward_order_.clear();
}

}  // namespace simmesh::fsdp
