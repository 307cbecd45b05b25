#pragma once

#include <cstdint>
#include <functional>
#include <gsl/span>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace simmesh {

using RankId = std::uint32_t;
inline constexpr RankId no_rank = std::numeric_limits<RankId>::max();

// SchedulePolicy decides, during one run, which runnable rank runs next. It is a seam: FIFO,
// seeded, priority, replayed and guided schedules implement it, and so do the explorer and
// programs.
class SchedulePolicy {
 public:
  virtual ~SchedulePolicy() = default;

  // add makes a rank runnable. At the start of a run all ranks are added in ascending order.
  virtual void add(RankId rank) = 0;

  // pick removes one of the runnable ranks and returns it; there is at least one. no_rank means
  // that the policy can't continue; error() then says why, and the run ends.
  virtual RankId pick() = 0;

  // foreseen returns the rank that the next pick would return now, if that is known; else no_rank.
  // The engine uses it only to fetch the rank's memory early.
  virtual RankId foreseen() const { return no_rank; }

  virtual std::string error() const { return {}; }

  // touched notes that the rank picked last uses an object for which the order of its users can
  // matter, if the policy listens.
  virtual void touched(RankId rank, std::uint64_t object) {
    static_cast<void>(rank);
    static_cast<void>(object);
  }
  virtual bool listens() const { return false; }
};

// Schedule names a policy: a value to put into WorldOptions.
//
//   Schedule::fifo()              the rank that became runnable first
//   Schedule::seeded(42)          a uniform choice; without a number, by the World's seed
//   Schedule::pct({.depth = 3})   random priorities with depth - 1 random drops (Burckhardt et
//                                 al., ASPLOS 2010)
//   Schedule::guided({2, 0})      these first, as far as they can run, then FIFO
//   Schedule::replay("0,1,0*3")   the recorded choices; fails where one can't be made
class Schedule {
 public:
  using MakePolicy =
      std::function<std::unique_ptr<SchedulePolicy>(std::size_t ranks, std::uint64_t seed)>;
  // Pct has the number of random events that a priority schedule is made to hit.
  struct Pct {
    int depth = 3;  // at least 1
    // The drops fall among the first steps of the run; 0 means 16 steps per rank.
    std::uint64_t steps = 0;
  };

  Schedule() : Schedule(fifo()) {}
  // fifo, seeded and pct are the schedules of the table above.
  static Schedule fifo();
  static Schedule seeded();
  static Schedule seeded(std::uint64_t seed);
  static Schedule pct(Pct options);
  // guided picks the ranks of a list in their order, skips those that can't run when their turn
  // comes, and then continues first come, first served. With an empty list it is FIFO.
  static Schedule guided(std::vector<RankId> turns);
  // replay takes ranks separated by commas, "rank*count" for repetitions. Raises a ValueError for
  // anything else.
  static Schedule replay(std::string_view choices);
  // custom makes a policy of the caller for each run, from the number of ranks and the World's
  // seed; reports have the name.
  static Schedule custom(std::string name, MakePolicy make);

  // parse reads the schedules of the command: fifo, seeded, seeded:SEED, pct:D, pos, pos:SEED,
  // walk, walk:LIST, replay:FILE, choices:LIST, choices:split:LIST, guided:LIST. Raises a
  // ValueError that lists these.
  static Schedule parse(std::string_view text);

  const std::string& name() const { return name_; }
  std::unique_ptr<SchedulePolicy> make_policy(std::size_t ranks, std::uint64_t seed) const {
    return make_(ranks, seed);
  }

 private:
  Schedule(std::string name, MakePolicy make) : name_(std::move(name)), make_(std::move(make)) {}

  std::string name_;
  MakePolicy make_;
};

// choices_to_string writes recorded choices so that Schedule::replay reads them.
std::string choices_to_string(gsl::span<const RankId> choices);
// choices_from_string is the inverse.
std::vector<RankId> choices_from_string(std::string_view text);

}  // namespace simmesh
