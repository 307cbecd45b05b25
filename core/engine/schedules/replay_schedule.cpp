#include <fmt/format.h>
#include <utility>

#include "core/engine/schedules/schedule.h"
#include "core/engine/schedules/schedule_listener.h"

namespace simmesh {

namespace {

class ReplayPolicy : public SchedulePolicy {
 public:
  ReplayPolicy(std::size_t ranks, std::vector<RankId> choices)
      : choices_(std::move(choices)), runnable_(ranks, false) {}

  void add(RankId rank) override {
    if (rank >= runnable_.size()) runnable_.resize(rank + 1);
    runnable_[rank] = true;
  }
  RankId pick() override {
    if (step_ == choices_.size()) {
      error_ = fmt::format(
          "[engine/replay] the recorded schedule ends after {} choices, but ranks can still run",
          step_);
      return no_rank;
    }
    RankId rank = choices_[step_++];
    if (rank >= runnable_.size() || !runnable_[rank]) {
      error_ = fmt::format(
          "[engine/replay] choice {} of the recorded schedule is rank {}, which can't run then",
          step_ - 1, rank);
      return no_rank;
    }
    runnable_[rank] = false;
    return rank;
  }
  std::string error() const override { return error_; }

 private:
  std::vector<RankId> choices_;
  std::vector<bool> runnable_;
  std::size_t step_ = 0;
  std::string error_;
};

// SplitReplayPolicy replays a schedule in which each use of what ranks share was a step.
class SplitReplayPolicy final : public ReplayPolicy, public ScheduleListener {
 public:
  using ReplayPolicy::ReplayPolicy;

  bool splits_steps() const override { return true; }
  void announce(RankId, gsl::span<const Access>) override {}
};

}  // namespace

Schedule Schedule::replay(std::string_view choices) {
  constexpr std::string_view split = "split:";
  std::string name = fmt::format("choices:{}", choices);
  if (choices.substr(0, split.size()) == split) {
    choices.remove_prefix(split.size());
    return {std::move(name),
            [list = choices_from_string(choices)](std::size_t ranks, std::uint64_t) {
              return std::make_unique<SplitReplayPolicy>(ranks, list);
            }};
  }
  return {std::move(name), [list = choices_from_string(choices)](std::size_t ranks, std::uint64_t) {
            return std::make_unique<ReplayPolicy>(ranks, list);
          }};
}

}  // namespace simmesh
