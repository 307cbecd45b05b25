#include "fsdp/owners.h"

#include <algorithm>
#include <string>

#include "core/check/error.h"
#include "core/engine/ranks/rank.h"
#include "fsdp/named_params.h"

namespace simmesh::fsdp {

namespace {

template <class... Args>
[[noreturn]] void raise_two_owners(const std::string& name, fmt::format_string<Args...> format,
                                   Args&&... args) {
  raise(ErrorKind::assertion_error, "fsdp/owners",
        "rank {}: {}: expected one owner of the shard's bytes, got {}", this_rank().id(), name,
        fmt::format(format, std::forward<Args>(args)...));
}

bool is_at(const Tensor& tensor, const FSDPParam& param) {
  return tensor.local_part().storage() == param.sharded_data().storage();
}

void check_slots(const NamedParam& named) {
  const FSDPParam& param = *named.param;
  if (!is_at(param.sharded_param(), param))
    raise_two_owners(named.name, "a parameter that gathers don't read");
  if (param.state() != ShardedState::sharded) return;
  std::vector<ParameterSlots::Slot> slots = param.slots().aliases;
  slots.push_back(param.slots().owner);
  for (const ParameterSlots::Slot& slot : slots)
    if (!is_at(slot.module->parameter(slot.name), param))
      raise_two_owners(named.name, "another tensor in the slot {} of its module", slot.name);
}

}  // namespace

void check_owners(nn::Module& model, gsl::span<const Tensor> optimized) {
  std::vector<NamedParam> owners;
  for (const NamedParam& named : named_params(model)) {
    const FSDPParam& param = *named.param;
    if (!param.sharded_data().is_defined() || param.sharded_data().is_meta()) continue;
    auto other = std::find_if(owners.begin(), owners.end(), [&](const NamedParam& seen) {
      return seen.param == named.param || is_at(seen.param->sharded_param(), param);
    });
    if (other == owners.end()) {
      owners.push_back(named);
      check_slots(named);
    } else if (other->param != named.param) {
      raise_two_owners(named.name, "the bytes of {} too", other->name);
    }
  }
  if (optimized.empty()) return;
  for (const NamedParam& named : owners) {
    if (!named.param->sharded_param().requires_grad()) continue;
    bool is_held = std::any_of(optimized.begin(), optimized.end(), [&](const Tensor& held) {
      return held.distribution() && is_at(held, *named.param);
    });
    if (!is_held)
      raise_two_owners(named.name, "an optimiser that changes other bytes than gathers read");
  }
}

}  // namespace simmesh::fsdp
