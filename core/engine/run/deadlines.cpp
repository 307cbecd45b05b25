#include "core/engine/run/deadlines.h"

namespace simmesh {

namespace {

constexpr double seconds_max = 3600;

}  // namespace

void Deadlines::add(RankId rank, double deadline_seconds) {
  waiting_.emplace(deadline_seconds, rank);
}

bool Deadlines::remove(RankId rank, double deadline_seconds) {
  waiting_.erase({deadline_seconds, rank});
  return come_.erase(rank) == 0;
}

std::optional<double> Deadlines::next() const {
  auto found = waiting_.upper_bound({seconds_, no_rank});
  if (found == waiting_.end()) return {};
  return found->first;
}

std::vector<RankId> Deadlines::pass() {
  std::vector<RankId> ranks;
  if (waiting_.empty() || waiting_.begin()->first > seconds_max) return ranks;
  seconds_ = waiting_.begin()->first;
  while (!waiting_.empty() && waiting_.begin()->first == seconds_) {
    ranks.push_back(waiting_.extract(waiting_.begin()).value().second);
    come_.insert(ranks.back());
  }
  return ranks;
}

}  // namespace simmesh
