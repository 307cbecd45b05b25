#pragma once

#include <set>
#include <utility>
#include <vector>

#include "core/engine/schedules/schedule.h"

namespace simmesh {

// Deadlines is the time of one run, in seconds from 0, and the moments that blocked ranks wait for.
// Time stands still until pass is called, which the run does when no rank can run. So it is the
// same under every schedule and on every machine.
//
//   deadlines.add(3, 2.5);
//   for (RankId rank : deadlines.pass()) ...   // rank 3; seconds() is 2.5
//   bool was_woken = deadlines.remove(3, 2.5);   // false: its deadline came first
class Deadlines {
 public:
  double seconds() const { return seconds_; }

  // add lets a rank wait for a moment. A rank has one deadline at a time.
  void add(RankId rank, double deadline_seconds);

  // remove forgets the deadline of a rank that goes on. Returns false if the deadline had come, and
  // true if something else woke the rank before.
  bool remove(RankId rank, double deadline_seconds);

  // empty says whether no rank waits for a moment.
  bool empty() const { return waiting_.empty(); }

  // pass moves time on to the earliest deadline, and returns the ranks that wait for that moment,
  // in ascending order. Returns none, and leaves time as it is, if no deadline is left or if the
  // earliest is after the first hour: ranks that do nothing but sleep and look again would never
  // end.
  std::vector<RankId> pass();

  // has_come says whether a rank was returned by pass and hasn't gone on since.
  bool has_come(RankId rank) const { return !come_.empty() && come_.count(rank) > 0; }

 private:
  double seconds_ = 0;
  std::set<std::pair<double, RankId>> waiting_;
  std::set<RankId> come_;
};

}  // namespace simmesh
