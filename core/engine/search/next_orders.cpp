#include "core/engine/search/next_orders.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace simmesh {

RankId FairTurns::next() {
  if (waiting_.empty()) return no_rank;
  RankId rank = waiting_.begin()->second;
  take(rank);
  return rank;
}

bool FairTurns::take(RankId rank) {
  if (waiting_.erase({events_[rank], rank}) == 0) return false;
  ++events_[rank];
  return true;
}

namespace {

// Walk goes over the events of a run in the order of FairTurns, from a set of events on that holds
// the past of each of its own.
class Walk {
 public:
  Walk(const RunOrder& run, const EventSet& done) : events_(run.events()), done_(done) {
    for (std::size_t event = 0; event < events_.size(); ++event)
      if (!done_.contains(event)) left_[events_[event].rank].push_back(event);
    for (auto& [rank, list] : left_) std::reverse(list.begin(), list.end());
    count_done();
  }

  // Returns the next event by FairTurns, without making it happen; none at the end.
  std::optional<std::size_t> next() const {
    const std::vector<std::size_t>* chosen = nullptr;
    std::pair<std::size_t, RankId> least;
    for (const auto& [rank, list] : left_) {
      if (list.empty() || !events_[list.back()].enabling.is_within(done_)) continue;
      std::pair<std::size_t, RankId> key{happened_.at(rank), rank};
      if (!chosen || key < least) {
        chosen = &list;
        least = key;
      }
    }
    return chosen ? std::optional(chosen->back()) : std::nullopt;
  }

  // Makes all events of a set happen that haven't.
  void add(const EventSet& more) {
    done_.add(more);
    count_done();
  }

  const EventSet& done() const { return done_; }

 private:
  void count_done() {
    for (auto& [rank, list] : left_) {
      while (!list.empty() && done_.contains(list.back())) list.pop_back();
    }
    happened_.clear();
    for (std::size_t event = 0; event < events_.size(); ++event) {
      std::size_t& count = happened_[events_[event].rank];
      if (done_.contains(event)) ++count;
    }
  }

  const std::vector<OrderedEvent>& events_;
  EventSet done_;
  std::map<RankId, std::vector<std::size_t>> left_;  // by rank, the next one last
  std::map<RankId, std::size_t> happened_;
};

// True if the run goes on by FairTurns alone once the events of a set have happened.
bool goes_on_fairly(const RunOrder& run, const EventSet& done) {
  Walk walk(run, done);
  while (std::optional<std::size_t> event = walk.next()) {
    const EventSet& past = run.events()[*event].past;
    if (!past.is_within_but_for(*event, walk.done())) return false;
    walk.add(past);
  }
  return true;
}

// Decision is a point of the run: the events before it, and the event that FairTurns lets happen.
struct Decision {
  EventSet before;
  std::size_t event;
};

class Children {
 public:
  explicit Children(const RunOrder& run) : run_(run), events_(run.events()) {}

  std::vector<EventOrder> all() {
    Walk walk(run_, {});
    while (std::optional<std::size_t> event = walk.next()) {
      add_children({walk.done(), *event});
      walk.add(events_[*event].past);
    }
    return std::move(found_);
  }

 private:
  void add_children(const Decision& at) {
    for (std::size_t later = at.event + 1; later < events_.size(); ++later) {
      if (!can_swap(at.event, later) || !is_last_of(at, later)) continue;
      EventSet done = at.before;
      done.add(events_[at.event].past);
      done.add(events_[later].past);
      if (goes_on_fairly(run_, done)) found_.push_back(swapped(done, at.event, later));
    }
  }

  // True if nothing but the order of the two events themselves puts the later one after the other.
  bool can_swap(std::size_t event, std::size_t later) const {
    const OrderedEvent& second = events_[later];
    if (!second.past.contains(event) || second.enabling.contains(event)) return false;
    if (!run_.depend(event, later)) return false;
    for (std::size_t between = event + 1; between < later; ++between)
      if (second.past.contains(between) && events_[between].past.contains(event)) return false;
    return true;
  }

  // True if the later event is the last one, by rank, of those that would be let through.
  bool is_last_of(const Decision& at, std::size_t later) const {
    const EventSet& before = events_[at.event].past;
    // The past that the later event has once it is let through.
    EventSet covered = at.before;
    covered.add(events_[later].enabling);
    for (std::size_t event = 0; event < later; ++event)
      if (event != at.event && run_.depend(event, later)) covered.add(events_[event].past);
    for (std::size_t event = at.event; event-- > 0;) {
      if (!before.contains(event) || covered.contains(event)) continue;
      if (events_[event].rank > events_[later].rank) return false;
      covered.add(events_[event].past);
    }
    return true;
  }

  EventOrder swapped(const EventSet& done, std::size_t event, std::size_t later) const {
    EventOrder order;
    for (std::size_t each = 0; each < events_.size(); ++each)
      if (done.contains(each) && each != event && each != later)
        order.push_back(events_[each].rank);
    order.push_back(events_[later].rank);
    order.push_back(events_[event].rank);
    return order;
  }

  const RunOrder& run_;
  const std::vector<OrderedEvent>& events_;
  std::vector<EventOrder> found_;
};

}  // namespace

std::vector<EventOrder> next_orders(const RunOrder& run) { return Children(run).all(); }

}  // namespace simmesh
