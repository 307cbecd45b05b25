#pragma once

#include <gsl/span>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/options/world_options.h"
#include "core/engine/reports/outcome.h"
#include "core/engine/run/rank_threads.h"
#include "core/engine/seats/picks.h"
#include "core/engine/seats/seat.h"

namespace simmesh {

// FailureReport describes why a run failed, and the activity of each of its ranks. It only reads,
// while nobody runs.
class FailureReport {
 public:
  // Parts are the inputs of the report. All of them must outlive it.
  struct Parts {
    const WorldOptions& options;
    gsl::span<const Seat> seats;
    const RankThreads* threads = nullptr;  // not null where ranks have started threads
  };
  explicit FailureReport(const Parts& parts)
      : options_(parts.options), seats_(parts.seats), threads_(parts.threads) {}

  // of_rank returns the failure of the first rank that failed by itself, in the order of the
  // numbers of ranks and deputies; nullopt if none did.
  std::optional<Failure> of_rank() const;

  // of_standstill returns why the ranks stand still though none has failed: the schedule can't be
  // followed, the run was interrupted, or this is a deadlock.
  Failure of_standstill(const Picks& picks) const;

  // name_of returns a rank, a deputy, or a thread that a rank started, in words.
  std::string name_of(RankId id) const;

  // describe_ranks returns a line for each rank but one: "  rank 3: had returned".
  std::string describe_ranks(RankId except) const;

 private:
  struct Counts {
    std::size_t all = 0, unfinished = 0;
  };
  // counts leaves out threads that have ended.
  Counts counts() const;
  std::string names_of(const std::vector<RankId>& ids) const;
  // Chain is the ranks that wait for one another, from the first blocked one on, until one comes up
  // twice (at cycle_begin), has returned, or waits for nobody that can be named.
  struct Chain {
    std::vector<RankId> path;
    std::size_t cycle_begin = 0;  // the path's size for no cycle
  };
  Chain follow() const;
  std::string describe_chain(const Chain& chain) const;
  std::string describe_differences(const Chain& chain) const;

  const WorldOptions& options_;
  gsl::span<const Seat> seats_;
  const RankThreads* threads_;
};

}  // namespace simmesh
