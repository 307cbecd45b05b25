#include "collectives/object_board.h"

#include "collectives/group.h"
#include "core/check/check.h"

namespace simmesh {

std::uint64_t ObjectBoard::next(const ProcessGroup& group) {
  return calls_[{group.group().id(), group.owner().id()}]++;
}

void ObjectBoard::put(const ProcessGroup& group, std::uint64_t number, const std::string& object) {
  objects_[{group.group().id(), number}] = object;
}

const std::string& ObjectBoard::get(const ProcessGroup& group, std::uint64_t number) const {
  auto found = objects_.find({group.group().id(), number});
  SIMMESH_CHECK(found != objects_.end(), "no object number {} of group {}", number, group.name());
  return found->second;
}

}  // namespace simmesh
