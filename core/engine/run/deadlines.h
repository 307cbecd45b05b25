#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/engine/schedules/schedule.h"

namespace simmesh {

// Deadlines is the time of one run, in seconds from 0, and the moments for which blocked ranks
// wait. Time stands still until the run calls pass, when no rank can run. So it is the same under
// every schedule and on every machine.
//
//   deadlines.add(3, 2.5);
//   std::vector<RankId> ranks = deadlines.pass();   // rank 3; seconds() is 2.5
//   bool was_woken = deadlines.remove(3, 2.5);      // false: its deadline came first
class Deadlines {
 public:
  double seconds() const { return seconds_; }

  // add lets a rank wait for a moment. A rank has one deadline at a time.
  void add(RankId rank, double deadline_seconds);

  // remove forgets the deadline of a rank that continues. Returns false if the deadline had come,
  // and true if something else woke the rank before.
  bool remove(RankId rank, double deadline_seconds);

  // empty is true if no rank waits for a moment.
  bool empty() const { return waiting_.empty(); }

  // next returns the earliest moment after the present one for which a rank waits; nothing if none
  // does.
  std::optional<double> next() const;

  // pass moves time on to the earliest deadline, and returns the ranks that wait for that moment,
  // in ascending order. Returns none, and doesn't change time, if no deadline is left or if the
  // earliest is after the first hour: ranks that only sleep and look again would never end.
  std::vector<RankId> pass();

  // has_come is true if pass returned the rank, and the rank hasn't continued since.
  bool has_come(RankId rank) const { return !come_.empty() && come_.count(rank) > 0; }

 private:
  double seconds_ = 0;
  std::set<std::pair<double, RankId>> waiting_;
  std::set<RankId> come_;
};

}  // namespace simmesh
