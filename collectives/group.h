#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectives/exchange.h"
#include "collectives/mailbox.h"
#include "collectives/transport.h"
#include "core/engine/run/run.h"
#include "mesh/membership.h"
#include "mesh/rank_list.h"

namespace simmesh {

// CollectiveCounts counts a run's collectives by operation. calls counts those of every member (in
// a folded world only of the ranks that are run). fabric_bytes is the number of bytes that the
// members of a real cluster would send in all, see docs/collectives.md.
struct CollectiveCounts {
  struct Count {
    std::uint64_t calls = 0;
    std::uint64_t fabric_bytes = 0;
  };
  std::array<Count, collective_op_count> by_op{};
  std::uint64_t copied_bytes = 0;

  const Count& of(CollectiveOp op) const { return by_op[std::size_t(op)]; }
};

// Group is the state that the members of a process group share during one run: the exchanges under
// way and the messages between them. Only a rank that has the turn uses it.
class Group {
 public:
  Group(Run& run, Membership membership, CollectiveCounts& counts);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const Membership& membership() const { return membership_; }
  std::uint32_t id() const { return membership_.id(); }

  // Numbers of the explorer's objects, the same under every schedule. exchange_object is a
  // collective, since ranks can ask if it has completed. mailbox_object is the messages to one
  // receiver with one tag, since their order matters to a receive from any source. delivery_object
  // is the meeting of such a message with its receive, since ranks can ask which of them came
  // first.
  std::uint64_t exchange_object(std::uint64_t sequence);
  std::uint64_t mailbox_object(std::size_t to, std::int64_t tag);
  std::uint64_t delivery_object(std::size_t to, std::int64_t tag);
  Mailbox& mailbox() { return mailbox_; }

  // join lets a member arrive at its next collective. If the member is the last one, the results
  // exist when join returns, and the others are awake. The arrival stays where it is until then.
  Exchange& join(std::size_t member, Arrival& arrival);
  // join_and_keep does the same, and holds the arrival until then.
  Exchange& join_and_keep(std::size_t member, std::shared_ptr<Arrival> arrival);

  // follow tells the schedule that a rank goes on after a collective of a member, which has
  // completed.
  void follow(const Rank& rank, std::uint64_t sequence) {
    if (run_.touches().is_listened_to()) [[unlikely]]
      run_.touches().follow(rank.id(), exchange_object(sequence));
  }

  // abort takes a member out for good; require_alive raises a ValueError for an aborted one.
  void abort(std::size_t member);
  bool is_aborted(std::size_t member) const { return !aborted_.empty() && aborted_[member]; }
  void require_alive(std::size_t member, const char* operation) const;

  // next_sequence returns the number of a member's next collective.
  std::uint64_t next_sequence(std::size_t member) const { return next_sequence_[member]; }

  // exchange_of returns a collective that is under way, or the next one.
  Exchange& exchange_of(std::uint64_t sequence);

 private:
  Exchange& arrive(std::size_t member, Arrival& arrival);
  void tell_arrival(std::size_t member, const Arrival& arrival);
  void complete(Exchange& exchange);
  void retire();
  std::uint64_t identity();

  Run& run_;
  Membership membership_;
  CollectiveCounts& counts_;
  Mailbox mailbox_;
  const Transport& transport_;
  std::vector<std::uint64_t> next_sequence_;          // of each member
  std::vector<std::unique_ptr<Exchange>> under_way_;  // by sequence
  std::vector<std::unique_ptr<Exchange>> spare_;
  std::vector<RankId> sleepers_;
  std::vector<bool> aborted_;  // by member; empty as long as none is
  std::uint64_t oldest_sequence_ = 0;
  std::uint64_t identity_ = 0;  // of members and name, once it was needed
};

// GroupTable finds a run's groups by members and name, so that all members of a group get the same
// one.
class GroupTable {
 public:
  Group& find_or_make(Run& run, const RankList& members, const std::string& name);
  const CollectiveCounts& counts() const { return *counts_; }

 private:
  std::unordered_map<RankList, std::vector<std::unique_ptr<Group>>> groups_;
  std::unique_ptr<CollectiveCounts> counts_ = std::make_unique<CollectiveCounts>();
  std::uint32_t next_id_ = 0;
};

}  // namespace simmesh
