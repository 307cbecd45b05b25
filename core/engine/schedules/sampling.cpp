#include "core/engine/schedules/sampling.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "core/check/join_text.h"
#include "core/engine/schedules/random_stream.h"
#include "core/engine/schedules/schedule_listener.h"

namespace simmesh {

namespace {

constexpr std::uint64_t steps_of_rank_by_default = 16;

class PosPolicy final : public SchedulePolicy, public ScheduleListener {
 public:
  // The objects are ascending.
  PosPolicy(std::uint64_t seed, std::vector<std::uint64_t> own_objects)
      : random_(seed, 0x905), own_objects_(std::move(own_objects)) {}

  // A rank that is on the way to its next event has a priority too: it may arrive at a collective
  // of which another rank asks.
  void add(RankId rank) override {
    auto before = priorities_.find(rank);
    bool keeps = before != priorities_.end() && is_of_its_own(rank);
    std::uint64_t priority = keeps ? before->second : random_.next();
    priorities_[rank] = priority;
    runnable_.push_back({priority, rank});
  }

  RankId pick() override {
    auto first = std::max_element(runnable_.begin(), runnable_.end());
    RankId rank = first->rank;
    runnable_.erase(first);
    auto found = announced_.find(rank);
    if (found == announced_.end()) return rank;
    for (Entry& entry : runnable_)
      if (auto other = announced_.find(entry.rank);
          other != announced_.end() && race(found->second, other->second))
        entry.priority = priorities_[entry.rank] = random_.next();
    announced_.erase(found);
    return rank;
  }

  void announce(RankId rank, gsl::span<const Access> accesses) override {
    announced_[rank].assign(accesses.begin(), accesses.end());
  }

 private:
  struct Entry {
    std::uint64_t priority;
    RankId rank;
    bool operator<(const Entry& other) const {
      return priority != other.priority ? priority < other.priority : rank > other.rank;
    }
  };
  using Accesses = std::vector<Access>;

  // True if the next event of the rank uses nothing that others use.
  bool is_of_its_own(RankId rank) const {
    auto found = announced_.find(rank);
    return found != announced_.end() &&
           std::all_of(found->second.begin(), found->second.end(), [&](const Access& access) {
             return std::binary_search(own_objects_.begin(), own_objects_.end(), access.object);
           });
  }

  // The order of adds may matter, which only the end of a run would tell.
  static bool race(const Accesses& one, const Accesses& other) {
    return std::any_of(one.begin(), one.end(), [&](const Access& access) {
      return std::any_of(other.begin(), other.end(), [&](const Access& another) {
        bool both_ask = access.kind == Access::Kind::ask && another.kind == Access::Kind::ask;
        return access.object == another.object && !both_ask;
      });
    });
  }

  RandomStream random_;
  std::vector<Entry> runnable_;
  std::map<RankId, Accesses> announced_;
  std::vector<std::uint64_t> own_objects_;
  std::map<RankId, std::uint64_t> priorities_;  // the last one of each rank
};

class WalkPolicy final : public SchedulePolicy {
 public:
  WalkPolicy(std::uint64_t seed, std::vector<std::uint64_t> steps)
      : random_(seed, 0x3A17), ahead_(std::move(steps)) {}

  void add(RankId rank) override {
    if (ahead_.size() <= rank) ahead_.resize(rank + 1, steps_of_rank_by_default);
    runnable_.push_back(rank);
  }

  // A rank that can run has at least one step ahead, however wrong the numbers are.
  RankId pick() override {
    std::uint64_t all = 0;
    for (RankId rank : runnable_) all += std::max<std::uint64_t>(ahead_[rank], 1);
    std::uint64_t chosen = random_.below(all);
    auto at = runnable_.begin();
    for (;; ++at) {
      std::uint64_t weight = std::max<std::uint64_t>(ahead_[*at], 1);
      if (chosen < weight) break;
      chosen -= weight;
    }
    RankId rank = *at;
    runnable_.erase(at);
    if (ahead_[rank] > 0) --ahead_[rank];
    return rank;
  }

 private:
  RandomStream random_;
  std::vector<std::uint64_t> ahead_;
  std::vector<RankId> runnable_;
};

// ReseededPolicy goes on with another policy from a step on. It passes on what it hears.
class ReseededPolicy final : public SchedulePolicy, public ScheduleListener {
 public:
  ReseededPolicy(const Schedule& schedule, std::size_t ranks, std::uint64_t seed, Reseed reseed)
      : after_(schedule.make_policy(ranks, reseed.seed)), reseed_(reseed) {
    use(schedule.make_policy(ranks, seed));
  }

  void add(RankId rank) override {
    runnable_.push_back(rank);
    policy_->add(rank);
  }
  RankId pick() override {
    if (step_++ == reseed_.step) {
      use(std::move(after_));
      for (RankId rank : runnable_) {
        if (auto found = announced_.find(rank); found != announced_.end())
          if (listener_) listener_->announce(rank, found->second);
        policy_->add(rank);
      }
    }
    RankId rank = policy_->pick();
    runnable_.erase(std::remove(runnable_.begin(), runnable_.end(), rank), runnable_.end());
    announced_.erase(rank);
    return rank;
  }
  std::string error() const override { return policy_->error(); }

  void announce(RankId rank, gsl::span<const Access> accesses) override {
    announced_[rank].assign(accesses.begin(), accesses.end());
    if (listener_) listener_->announce(rank, accesses);
  }

 private:
  void use(std::unique_ptr<SchedulePolicy> policy) {
    policy_ = std::move(policy);
    listener_ = dynamic_cast<ScheduleListener*>(policy_.get());
  }

  std::unique_ptr<SchedulePolicy> policy_, after_;
  ScheduleListener* listener_ = nullptr;
  Reseed reseed_;
  std::uint64_t step_ = 0;
  std::vector<RankId> runnable_;
  std::map<RankId, std::vector<Access>> announced_;
};

}  // namespace

Schedule pos_schedule() {
  return Schedule::custom("pos", [](std::size_t, std::uint64_t seed) {
    return std::make_unique<PosPolicy>(seed, std::vector<std::uint64_t>());
  });
}

Schedule pos_schedule(std::uint64_t seed, std::vector<std::uint64_t> own_objects) {
  return Schedule::custom(fmt::format("pos:{}", seed),
                          [seed, own = std::move(own_objects)](std::size_t, std::uint64_t) {
                            return std::make_unique<PosPolicy>(seed, own);
                          });
}

Schedule walk_schedule(std::vector<std::uint64_t> steps) {
  std::string name = steps.empty() ? "walk" : "walk:" + join_text(steps, ",");
  return Schedule::custom(std::move(name),
                          [steps = std::move(steps)](std::size_t, std::uint64_t seed) {
                            return std::make_unique<WalkPolicy>(seed, steps);
                          });
}

Schedule reseeded_schedule(const Schedule& schedule, const Reseed& reseed) {
  std::string name =
      fmt::format("{} with seed {} from step {} on", schedule.name(), reseed.seed, reseed.step);
  return Schedule::custom(std::move(name), [=](std::size_t ranks, std::uint64_t seed) {
    return std::make_unique<ReseededPolicy>(schedule, ranks, seed, reseed);
  });
}

std::vector<std::uint64_t> steps_by_rank(gsl::span<const RankId> choices) {
  std::vector<std::uint64_t> steps;
  for (RankId rank : choices) {
    if (steps.size() <= rank) steps.resize(rank + 1);
    ++steps[rank];
  }
  return steps;
}

}  // namespace simmesh
