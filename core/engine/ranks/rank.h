#pragma once

#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/check/call_site.h"
#include "core/check/fold_hash.h"
#include "core/engine/ranks/state_map.h"
#include "core/engine/schedules/random_stream.h"
#include "core/engine/schedules/schedule.h"
#include "core/memory/ledger.h"

namespace simmesh {

class Clock;
class Run;
class World;

// Rank is one simulated device: everything that a body of World::run may ask about itself. Only its
// own fiber uses it.
class Rank {
 public:
  // Owner is the run that the rank takes part in, and that run's number.
  struct Owner {
    Run& run;
    std::uint32_t number;
  };

  // The random stream has the seed and the rank's number. Without a clock no device is modelled.
  Rank(const Owner& owner, RankId id, std::uint64_t seed, boost::intrusive_ptr<Ledger> ledger,
       std::unique_ptr<Clock> clock);
  ~Rank();
  Rank(Rank&& other) noexcept;

  RankId id() const { return id_; }
  // world returns the World that runs the rank.
  World& world();
  Run& run() { return *run_; }
  Ledger& ledger() { return *ledger_; }
  // clock returns the clock of the rank's simulated device, null if WorldOptions::device models
  // none.
  Clock* clock() { return clock_.get(); }
  // random returns the rank's own stream: seed of the World, number of the rank.
  RandomStream& random() { return random_; }

  // yield lets the schedule choose again between this rank and the others that can run.
  void yield(CallSite site = CallSite::here());

  // sleep suspends the rank for that much of the run's time, which passes only when no rank can
  // run. It is the same under every machine and schedule, and takes no time on a wall clock.
  // seconds returns the time that has passed since the run began.
  void sleep(double seconds, CallSite site = CallSite::here());
  double seconds() const;

  // heartbeat says that the rank makes progress, though it computes for long without giving up its
  // turn. The watchdog's time begins again, and an Interrupt ends the run here.
  void heartbeat(CallSite site = CallSite::here());

  // operations counts the collectives, sends, receives and waits that the rank has begun.
  std::uint64_t operations() const { return operations_; }
  void count_operation() { ++operations_; }

  // record folds an output into the run's data hash: a word, or a value with a function
  // fold_into(FoldHash&, value) beside its type, which chooses the parts that count. Of a Tensor
  // these are dtype, shape and bits.
  void record(std::uint64_t word) { data_hash_.fold(word); }
  template <class T>
  requires requires(FoldHash& hash, const T& output) { fold_into(hash, output); }
  void record(const T& output) { fold_into(data_hash_, output); }
  std::uint64_t data_hash() const { return data_hash_.value(); }

  // expect_same_bits raises a RuntimeError if two values, such as Tensors, differ. It names the
  // place of the call and the difference, in the words of the function difference_in_bits(actual,
  // expected) beside their type.
  template <class T>
  void expect_same_bits(const T& actual, const T& expected,
                        CallSite site = CallSite::here()) const {
    std::string difference = difference_in_bits(actual, expected);
    if (!difference.empty()) refuse_difference(difference, site);
  }

  // state keeps a value of type T for this rank until the run ends.
  template <class T>
  T& state() {
    return states_.get<T>();
  }

  // Counters that other layers keep for each rank; the layer that counts gives the slots their
  // meaning.
  static constexpr std::size_t counter_count = 14;
  std::array<std::uint32_t, counter_count>& counters() { return counters_; }

  // run_number returns the number of the rank's run, which tells runs apart.
  std::uint32_t run_number() const { return run_number_; }

  // active returns the rank whose body runs on this thread, null if there is none. The engine sets
  // it whenever a thread continues with another rank.
  static Rank* active() { return active_; }
  static void set_active(Rank* rank) { active_ = rank; }

 private:
  [[noreturn]] void refuse_difference(std::string_view difference, const CallSite& site) const;

  static constinit inline thread_local Rank* active_ = nullptr;

  Run* run_;
  boost::intrusive_ptr<Ledger> ledger_;
  std::unique_ptr<Clock> clock_;
  RandomStream random_;
  FoldHash data_hash_;
  std::uint64_t operations_ = 0;
  std::array<std::uint32_t, counter_count> counters_{};
  StateMap states_;
  RankId id_;
  std::uint32_t run_number_;
};

// this_rank returns the rank whose body runs on this fiber. Raises a RuntimeError outside
// World::run.
Rank& this_rank();
// in_rank is true if this_rank would succeed.
inline bool in_rank() { return Rank::active() != nullptr; }

}  // namespace simmesh
