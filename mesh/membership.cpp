#include "mesh/membership.h"

#include <algorithm>
#include <fmt/format.h>

namespace simmesh {

Membership::Membership(Identity identity, const WorldOptions& world)
    : id_(identity.id), name_(std::move(identity.name)), members_(std::move(identity.members)) {
  for (RankId rank : world.folded_onto)
    if (auto member = members_.index_of(rank)) members_run_.push_back(std::size_t(*member));
  std::sort(members_run_.begin(), members_run_.end());
}

bool Membership::is_run(std::size_t member) const {
  return members_run_.empty() ||
         std::binary_search(members_run_.begin(), members_run_.end(), member);
}

std::string Membership::describe() const {
  return fmt::format("{} {}", name_, to_string(members_));
}

}  // namespace simmesh
