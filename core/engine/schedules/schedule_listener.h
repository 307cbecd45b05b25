#pragma once

#include <cstdint>
#include <gsl/span>

#include "core/engine/schedules/schedule.h"

namespace simmesh {

// Access is one use of an object that several ranks use. Two accesses of different ranks depend on
// each other, so that their order can matter, if they are of one object, with these exceptions: two
// adds don't, unless the object is known to keep their order, and two asks don't.
struct Access {
  enum class Kind : std::uint8_t {
    change,  // reads and writes, such as a use of Shared
    add,     // one more of what is counted: an arrival at a collective, a message, a receive
    ask      // looks whether all that is needed was added, such as Work::is_completed
  };

  std::uint64_t object = 0;
  Kind kind = Kind::change;
};

// ScheduleListener hears, during one run, what the next steps of ranks depend on. A SchedulePolicy
// that wants to know is one as well. All calls come from the rank that has the turn, except
// stood_still.
//
// What a rank does is a line of events: each begins with accesses that the rank has announced, and
// goes on to the next announcement. Beside the accesses, a rank's next event needs what woke the
// rank, and what it followed. A listener that doesn't override a call ignores it, but for announce.
class ScheduleListener {
 public:
  virtual ~ScheduleListener() = default;

  // announce says that the rank gives up the turn before it makes the accesses: they are its next
  // event. It is runnable next.
  virtual void announce(RankId rank, gsl::span<const Access> accesses) = 0;

  // splits_steps is true if each access is to be announced. Otherwise only those are that are
  // points of the schedule anyway.
  virtual bool splits_steps() const { return false; }

  // publish lets others follow what the rank has done so far, under the number of an object; join
  // adds to it what was published under another one. follow says that the rank's next event can't
  // come before that.
  virtual void publish([[maybe_unused]] RankId rank, [[maybe_unused]] std::uint64_t object) {}
  virtual void join([[maybe_unused]] std::uint64_t object, [[maybe_unused]] std::uint64_t other) {}
  virtual void follow([[maybe_unused]] RankId rank, [[maybe_unused]] std::uint64_t object) {}

  // stood_still says that no rank could run: the ranks that are added next need all events so far.
  virtual void stood_still() {}

  // adds_keep_order says that the order of the adds to an object matters. need_split_steps says
  // that accesses matter which are no points of the schedule: a rank has asked how far others are,
  // or the calls of two ranks don't agree.
  virtual void adds_keep_order([[maybe_unused]] std::uint64_t object) {}
  virtual void need_split_steps() {}
};

}  // namespace simmesh
