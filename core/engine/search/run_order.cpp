#include "core/engine/search/run_order.h"

#include <algorithm>
#include <utility>

namespace simmesh {

bool KnownOrders::depend(const Access& one, const Access& other) const {
  if (one.object != other.object) return false;
  if (one.kind != other.kind || one.kind == Access::Kind::change) return true;
  return one.kind == Access::Kind::add && kept.count(one.object) > 0;
}

bool KnownOrders::depend(gsl::span<const Access> one, gsl::span<const Access> other) const {
  return std::any_of(one.begin(), one.end(), [&](const Access& access) {
    return std::any_of(other.begin(), other.end(),
                       [&](const Access& another) { return depend(access, another); });
  });
}

void RunOrder::happen(RankId rank, std::vector<Access> accesses) {
  std::size_t number = events_.size();
  OrderedEvent event{.rank = rank, .enabling = clock(rank), .past = clock(rank)};
  for (const Access& access : accesses)
    for (std::size_t user : users_[access.object])
      if (!event.past.contains(user) && known_->depend(accesses, events_[user].accesses))
        event.past.add(events_[user].past);
  event.past.insert(number);
  for (const Access& access : accesses) users_[access.object].push_back(number);
  event.accesses = std::move(accesses);
  clock(rank) = event.past;
  all_.insert(number);
  events_.push_back(std::move(event));
}

void RunOrder::wake(RankId rank, RankId by) {
  EventSet& woken = clock(rank);
  woken.add(clocks_.size() > by ? clocks_[by] : EventSet());
}

void RunOrder::join(std::uint64_t object, std::uint64_t other) {
  auto found = published_.find(other);
  if (found != published_.end()) published_[object].add(found->second);
}

void RunOrder::follow(RankId rank, std::uint64_t object) {
  auto found = published_.find(object);
  if (found != published_.end()) clock(rank).add(found->second);
}

EventSet& RunOrder::clock(RankId rank) {
  if (clocks_.size() <= rank) clocks_.resize(rank + 1);
  return clocks_[rank];
}

}  // namespace simmesh
