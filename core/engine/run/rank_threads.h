#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/engine/options/world_options.h"

namespace simmesh {

class Rank;

// ThreadWork is the work of a thread that a rank starts. The name is for reports.
struct ThreadWork {
  std::string name;
  std::function<void(Rank&)> body;
};

// RankThreads keeps the threads that the ranks of one run have started, in a world whose ranks are
// threads themselves. A thread has a seat of its own, so that the schedule chooses among ranks and
// threads alike; its collectives are those of the rank behind it. Seats are numbered after the
// ranks and deputies: thread n of rank r has the number deputy_id(options, r, deputies + n). A
// thread that starts gets the lowest number that is free.
//
// The results that threads get don't count in an order, because their order is the schedule's.
class RankThreads {
 public:
  explicit RankThreads(const WorldOptions& options)
      : options_(options), ranks_(options.ranks_are_threads ? options.ranks : 0) {}

  // max_of_rank returns the number of threads that a rank may have at once; seats_max returns the
  // number of seats that a run needs at most.
  static std::size_t max_of_rank(const WorldOptions& options);
  static std::size_t seats_max(const WorldOptions& options);
  // is_thread is true for the seat of a thread that a rank started.
  static bool is_thread(const WorldOptions& options, RankId id);

  // begin gives work of a rank a number, and returns it. Raises a RuntimeError if the rank has too
  // many threads. end frees the number of a thread that has ended; its name stays
  // until another thread gets the number.
  RankId begin(RankId rank, ThreadWork work);
  void end(RankId thread);

  const ThreadWork& work(RankId thread) const;

  // of_rank returns the threads of a rank that haven't ended, in the order of their numbers.
  std::vector<RankId> of_rank(RankId rank) const;

  // add_result counts a result of a rank's threads; results returns what came together, 0 for none.
  void add_result(RankId rank, std::uint64_t word);
  std::uint64_t results(RankId rank) const { return ranks_.empty() ? 0 : ranks_[rank].results; }

 private:
  struct OfRank {
    std::vector<ThreadWork> threads;  // by number; without a body where it is free
    std::uint64_t results = 0;
  };

  std::size_t number_of(RankId thread) const;

  const WorldOptions& options_;
  std::vector<OfRank> ranks_;
};

}  // namespace simmesh
