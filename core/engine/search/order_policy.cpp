#include "core/engine/search/order_policy.h"

#include <fmt/format.h>
#include <utility>

namespace simmesh {

void OrderPolicy::add(RankId rank) {
  if (stood_still_)
    notes_.run.follow_all(rank);
  else if (running_ != no_rank && running_ != rank)
    notes_.run.wake(rank, running_);
  if (announced_.count(rank) > 0)
    waiting_.add(rank);
  else
    on_the_way_.push_back(rank);
}

RankId OrderPolicy::pick() {
  stood_still_ = false;
  if (on_the_way_.empty()) {
    running_ = next_event();
  } else {
    running_ = on_the_way_.front();
    on_the_way_.pop_front();
  }
  if (running_ != no_rank) notes_.choices.push_back(running_);
  return running_;
}

RankId OrderPolicy::next_event() {
  std::size_t number = notes_.run.events().size();
  RankId rank = no_rank;
  if (number >= notes_.order.size()) {
    rank = waiting_.next();
  } else if (waiting_.take(notes_.order[number])) {
    rank = notes_.order[number];
  } else {
    error_ = fmt::format(
        "[engine/explore] expected rank {} to come to its next event, number {} of the run, got it "
        "blocked: ranks wait for one another in a way that the schedule doesn't know of",
        notes_.order[number], number);
    return no_rank;
  }
  notes_.run.happen(rank, std::move(announced_.extract(rank).mapped()));
  return rank;
}

void OrderPolicy::announce(RankId rank, gsl::span<const Access> accesses) {
  announced_[rank].assign(accesses.begin(), accesses.end());
}

void OrderPolicy::stood_still() {
  stood_still_ = true;
  running_ = no_rank;
}

}  // namespace simmesh
