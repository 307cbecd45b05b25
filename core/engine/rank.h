#pragma once

#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <memory>

#include "core/check/fold_hash.h"
#include "core/engine/activity.h"
#include "core/engine/random_stream.h"
#include "core/engine/schedule.h"
#include "core/engine/state_map.h"
#include "core/memory/ledger.h"
#include "core/tensor/tensor.h"

namespace simmesh {

class Clock;
class Run;
class World;

// Rank is one simulated device: what a body that World::run runs may ask about itself. Only its own
// fiber uses it.
class Rank {
 public:
  Rank(Run& run, RankId id, std::uint64_t seed, boost::intrusive_ptr<Ledger> ledger,
       std::shared_ptr<Clock> clock = nullptr)
      : run_(&run),
        ledger_(std::move(ledger)),
        clock_(std::move(clock)),
        random_(seed, id),
        id_(id) {}

  RankId id() const { return id_; }
  Run& run() { return *run_; }
  World& world();
  Ledger& ledger() { return *ledger_; }
  // clock is that of the rank's simulated device, null where WorldOptions::device models none.
  Clock* clock() { return clock_.get(); }
  // random is the rank's own stream: seed of the World, number of the rank.
  RandomStream& random() { return random_; }

  // operations counts the collectives, sends, receives and waits that the rank has begun.
  std::uint64_t operations() const { return operations_; }
  void count_operation() { ++operations_; }

  // record folds an output's shape, dtype and bits into the run's data hash.
  void record(const Tensor& output);
  void record(std::uint64_t word) { data_hash_.fold(word); }
  std::uint64_t data_hash() const { return data_hash_.value(); }

  // expect_same_bits throws a RuntimeError that names the first element in which the tensors
  // differ.
  void expect_same_bits(const Tensor& actual, const Tensor& expected) const;

  // state keeps a value of type T for this rank until the run ends.
  template <class T>
  T& state() {
    return states_.get<T>();
  }

  // Counters that other layers keep a rank; the layer that counts gives the slots their meaning.
  static constexpr std::size_t counter_count = 16;
  std::array<std::uint32_t, counter_count>& counters() { return counters_; }

 private:
  Run* run_;
  boost::intrusive_ptr<Ledger> ledger_;
  std::shared_ptr<Clock> clock_;
  RandomStream random_;
  FoldHash data_hash_;
  std::uint64_t operations_ = 0;
  std::array<std::uint32_t, counter_count> counters_{};
  StateMap states_;
  RankId id_;
};

// this_rank returns the rank whose body runs on this fiber. Throws a RuntimeError outside
// World::run.
Rank& this_rank();
// in_rank says whether this_rank would succeed.
bool in_rank();

}  // namespace simmesh
