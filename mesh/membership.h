#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/options/world_options.h"
#include "mesh/rank_list.h"

namespace simmesh {

// Membership is the identity of a group: its number within the run, its name, its members in their
// order, and which of these run. All of them run, except in a folded world.
class Membership {
 public:
  struct Identity {
    std::uint32_t id;
    std::string name;
    RankList members;
  };

  Membership(Identity identity, const WorldOptions& world);

  std::uint32_t id() const { return id_; }
  const std::string& name() const { return name_; }
  const RankList& members() const { return members_; }
  std::size_t size() const { return std::size_t(members_.size()); }
  RankId rank_of(std::size_t member) const { return RankId(members_[std::int64_t(member)]); }

  bool is_run(std::size_t member) const;
  std::size_t count_run() const { return members_run_.empty() ? size() : members_run_.size(); }
  std::size_t first_run() const { return members_run_.empty() ? 0 : members_run_.front(); }

  // describe returns "dp [0, 4]".
  std::string describe() const;

 private:
  std::uint32_t id_;
  std::string name_;
  RankList members_;
  std::vector<std::size_t> members_run_;  // ascending; empty where all run
};

}  // namespace simmesh
