#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/engine/reports/outcome.h"
#include "core/engine/schedules/schedule_listener.h"
#include "core/engine/seats/picks.h"

namespace simmesh {

// TouchLog is the list of all uses, in one run, of objects for which the order of their users can
// matter, with the objects that are known to be sensitive to it. The explorer reorders the uses of
// sensitive objects. The caller has the turn.
class TouchLog {
 public:
  // The picks must outlive this.
  explicit TouchLog(Picks& picks) : picks_(picks) {}

  // add records that a rank uses an object in the current step, and tells the policy.
  void add(RankId rank, std::uint64_t object);
  // is_listened_to is true if the policy wants to know. Otherwise a use that only matters to the
  // rank that asks about it need not be recorded.
  bool is_listened_to() const { return picks_.is_listened_to(); }

  // mark_sensitive notes that the order of an object's users matters. mark_adds_ordered notes it
  // of an object to which ranks add, and mark_disagreement of one at which the calls of ranks don't
  // agree, so that the later of them fails. mark_all_sensitive notes it for every object, because a
  // rank has asked about the progress of others.
  void mark_sensitive(std::uint64_t object) { sensitive_.insert(object); }
  void mark_adds_ordered(std::uint64_t object);
  void mark_disagreement(std::uint64_t object);
  void mark_all_sensitive();

  // The next members tell a ScheduleListener, if the policy is one, what its functions of the same
  // names say. splits_steps is false without one.
  bool splits_steps() const { return listener() && listener()->splits_steps(); }
  void announce(RankId rank, gsl::span<const Access> accesses) {
    if (listener()) listener()->announce(rank, accesses);
  }
  void publish(RankId rank, std::uint64_t object) {
    if (listener()) [[unlikely]]
      listener()->publish(rank, object);
  }
  void join(std::uint64_t object, std::uint64_t other) {
    if (listener()) [[unlikely]]
      listener()->join(object, other);
  }
  void follow(RankId rank, std::uint64_t object) {
    if (listener()) [[unlikely]]
      listener()->follow(rank, object);
  }
  void stood_still() {
    if (listener()) listener()->stood_still();
  }

  // sensitive returns the uses of sensitive objects, in the order in which they happened.
  std::vector<Touch> sensitive() const;

 private:
  ScheduleListener* listener() const { return picks_.listener(); }

  Picks& picks_;
  std::vector<Touch> touches_;
  std::set<std::uint64_t> sensitive_;
  bool all_are_sensitive_ = false;
};

}  // namespace simmesh
