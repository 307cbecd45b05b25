#pragma once

#include <cstdint>
#include <gsl/span>
#include <map>
#include <set>
#include <vector>

#include "core/engine/schedules/schedule_listener.h"
#include "core/engine/search/event_set.h"

namespace simmesh {

// KnownOrders is knowledge that a search gains from its runs: the objects whose adds keep their
// order, and the fact that each access has to be an event, as ScheduleListener says. It only grows.
struct KnownOrders {
  std::set<std::uint64_t> kept;
  bool splits_steps = false;

  bool operator==(const KnownOrders&) const = default;
  void add(const KnownOrders& other) {
    kept.insert(other.kept.begin(), other.kept.end());
    splits_steps |= other.splits_steps;
  }
  // depend is true if the order of two accesses of different ranks can matter.
  bool depend(const Access& one, const Access& other) const;
  bool depend(gsl::span<const Access> one, gsl::span<const Access> other) const;
};

// OrderedEvent is an event of a run: the accesses with which it begins, the earlier events without
// which it couldn't have begun (enabling), and all events that come before it in every equivalent
// run, with itself (past).
struct OrderedEvent {
  RankId rank = no_rank;
  std::vector<Access> accesses;
  EventSet enabling;
  EventSet past;
};

// RunOrder is the partial order of the events of one run, in the order in which they happened. Two
// runs with equal partial orders are one class.
class RunOrder {
 public:
  // The knowledge must outlive this.
  explicit RunOrder(const KnownOrders& known) : known_(&known) {}

  // happen adds the next event of a rank.
  void happen(RankId rank, std::vector<Access> accesses);

  // wake says that the next event of a rank needs what another one has done; publish, join, follow
  // and stood_still are those of ScheduleListener, of which the last names one rank at a time.
  void wake(RankId rank, RankId by);
  void publish(RankId rank, std::uint64_t object) { published_[object].add(clock(rank)); }
  void join(std::uint64_t object, std::uint64_t other);
  void follow(RankId rank, std::uint64_t object);
  void follow_all(RankId rank) { clock(rank).add(all_); }

  const std::vector<OrderedEvent>& events() const { return events_; }
  bool depend(std::size_t one, std::size_t other) const {
    return known_->depend(events_[one].accesses, events_[other].accesses);
  }

 private:
  EventSet& clock(RankId rank);

  const KnownOrders* known_;
  std::vector<OrderedEvent> events_;
  EventSet all_;
  std::vector<EventSet> clocks_;  // by rank: what its next event needs
  std::map<std::uint64_t, EventSet> published_;
  std::map<std::uint64_t, std::vector<std::size_t>> users_;  // events by object
};

}  // namespace simmesh
