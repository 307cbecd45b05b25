#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "collectives/process_group.h"

namespace simmesh {

// ObjectBoard carries the objects of broadcast_object in a World of shapes only, where tensors have
// no bytes to carry them. A Run has one. Object number i of a group is that of the i-th call.
class ObjectBoard {
 public:
  // next counts a member's calls. The root calls put before the collective, and all members call
  // get after it. The caller has the turn.
  std::uint64_t next(const ProcessGroup& group);
  void put(const ProcessGroup& group, std::uint64_t number, const std::string& object);
  const std::string& get(const ProcessGroup& group, std::uint64_t number) const;

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // group, and rank or number
  std::map<Key, std::uint64_t> calls_;
  std::map<Key, std::string> objects_;
};

}  // namespace simmesh
