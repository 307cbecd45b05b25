#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/engine/schedules/schedule.h"
#include "core/engine/schedules/schedule_listener.h"
#include "core/engine/search/next_orders.h"
#include "core/engine/search/run_order.h"

namespace simmesh {

// OrderPolicy runs the events of a run in a given order, and goes on by FairTurns. Ranks that are
// on the way to their next event come first, since no order of theirs matters. It keeps the partial
// order of the run.
class OrderPolicy final : public SchedulePolicy, public ScheduleListener {
 public:
  // Notes is the record of a run, for which the policy doesn't live long enough. The order must not
  // be longer than the run.
  struct Notes {
    Notes(EventOrder asked_order, const KnownOrders& known_before)
        : order(std::move(asked_order)), known(known_before), run(known) {}
    Notes(const Notes&) = delete;
    Notes& operator=(const Notes&) = delete;

    const EventOrder order;
    const KnownOrders& known;
    KnownOrders learned;          // what the run has shown, known or not
    RunOrder run;                 // the partial order
    std::vector<RankId> choices;  // all of the schedule
  };

  // The notes must outlive this.
  explicit OrderPolicy(Notes& notes) : notes_(notes) {}

  void add(RankId rank) override;
  RankId pick() override;
  std::string error() const override { return error_; }

  void announce(RankId rank, gsl::span<const Access> accesses) override;
  bool splits_steps() const override { return notes_.known.splits_steps; }
  void publish(RankId rank, std::uint64_t object) override { notes_.run.publish(rank, object); }
  void join(std::uint64_t object, std::uint64_t other) override { notes_.run.join(object, other); }
  void follow(RankId rank, std::uint64_t object) override { notes_.run.follow(rank, object); }
  void stood_still() override;
  void adds_keep_order(std::uint64_t object) override { notes_.learned.kept.insert(object); }
  void need_split_steps() override { notes_.learned.splits_steps = true; }

 private:
  RankId next_event();

  Notes& notes_;
  FairTurns waiting_;
  std::deque<RankId> on_the_way_;
  std::map<RankId, std::vector<Access>> announced_;
  RankId running_ = no_rank;
  bool stood_still_ = false;
  std::string error_;
};

}  // namespace simmesh
