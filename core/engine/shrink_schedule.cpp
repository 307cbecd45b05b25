#include "core/engine/shrink_schedule.h"

#include <algorithm>
#include <set>

namespace simmesh {

namespace {

using TurnList = std::vector<RankId>;

// Shrinker keeps the shortest failing list found so far.
class Shrinker {
 public:
  Shrinker(const ShrinkRequest& request, const FailingRun& run) : request_(request), run_(run) {}

  std::optional<ShrunkSchedule> shrink() {
    if (!try_turns(request_.choices)) return std::nullopt;
    if (try_turns({})) return best_;
    for (std::size_t parts = 2; best_->turns.size() > 1;) {
      if (without_a_part(parts))
        parts = std::max<std::size_t>(parts - 1, 2);
      else if (parts >= best_->turns.size() || runs_ >= request_.runs_max)
        break;
      else
        parts = std::min(2 * parts, best_->turns.size());
    }
    return best_;
  }

 private:
  // Leaving out any of several equal turns in a row gives one list, which runs once.
  bool try_turns(const TurnList& turns) {
    if (passed_.count(turns) > 0 || runs_++ >= request_.runs_max) return false;
    std::optional<Outcome> outcome = run_(Schedule::guided(turns));
    if (outcome)
      best_ = ShrunkSchedule{turns, std::move(*outcome)};
    else
      passed_.insert(turns);
    return outcome.has_value();
  }

  bool without_a_part(std::size_t parts) {
    const TurnList turns = best_->turns;
    for (std::size_t part = 0; part < parts; ++part) {
      std::size_t begin = turns.size() * part / parts, end = turns.size() * (part + 1) / parts;
      TurnList rest(turns.begin(), turns.begin() + std::ptrdiff_t(begin));
      rest.insert(rest.end(), turns.begin() + std::ptrdiff_t(end), turns.end());
      if (try_turns(rest)) return true;
    }
    return false;
  }

  const ShrinkRequest& request_;
  const FailingRun& run_;
  std::optional<ShrunkSchedule> best_;
  std::set<TurnList> passed_;
  std::uint64_t runs_ = 0;
};

}  // namespace

std::optional<ShrunkSchedule> shrink_schedule(const ShrinkRequest& request, const FailingRun& run) {
  return Shrinker(request, run).shrink();
}

}  // namespace simmesh
