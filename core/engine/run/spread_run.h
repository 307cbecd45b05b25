#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <gsl/span>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/options/world_options.h"
#include "core/engine/reports/outcome.h"
#include "core/engine/spread/process_frame.h"
#include "core/engine/spread/world_spread.h"

namespace simmesh {

// SpreadRun is a run whose ranks are spread over processes: who owns which rank, and what the
// processes tell each other. All processes make the same exchanges in the same order, so each
// carries its number and name: a process that comes with another one has gone apart, and an error
// says so.
//
// An error that all processes find alike ends its rank as usual. An error that only the owner of a
// rank finds, such as an index that a kernel refuses, ends the run in all processes: see
// tell_failure.
class SpreadRun {
 public:
  // State is where a run keeps it; null where the run isn't spread.
  struct State {
    std::unique_ptr<SpreadRun> run;
  };
  // of returns that of a run, null where the run isn't spread.
  template <class Run>
  static SpreadRun* of(Run& run) {
    return WorldSpread::active() ? run.template state<State>().run.get() : nullptr;
  }

  // EndRank raises RankEnded in the rank that has the turn.
  using EndRank = std::function<void()>;
  // make returns one if a WorldSpread is active and the world has data, null otherwise. A world in
  // a rank belongs to the owner of that rank, if one is given. Raises a ValueError for options that
  // a spread world can't have.
  static std::unique_ptr<SpreadRun> make(const WorldOptions& options,
                                         std::optional<int> owner_of_all, EndRank end_rank);

  SpreadRun(WorldSpread& spread, const WorldOptions& options, std::optional<int> owner_of_all,
            EndRank end_rank);

  int process() const { return spread_.number(); }
  int processes() const { return spread_.count(); }
  // owner returns the process that owns a rank, or the rank of a deputy.
  int owner(RankId id) const;
  bool owns(RankId id) const { return owner(id) == process(); }

  // begin_exchange numbers what follows. All processes call it at the same place of the program,
  // also those that send and get nothing there. Raises RankEnded if the run has ended because of
  // another process.
  void begin_exchange();
  // exchange sends the parcels and returns the messages of the processes in `from`, in their order.
  // Raises RankEnded as above, and a RuntimeError if another process is elsewhere in the program.
  std::vector<ProcessBytes> exchange(std::string_view name, std::vector<Parcel> parcels,
                                     gsl::span<const int> from);
  // share returns the bytes that a process gives to all; the others give nothing. It is an exchange
  // of its own.
  ProcessBytes share(std::string_view name, int from, const ProcessBytes& bytes);

  // tell_failure tells the others that a rank has ended by an error. If all of them say the same,
  // the run goes on, since they go on alike. Else it is over here and there.
  void tell_failure(RankId rank);
  // is_over is true once the run only ends, because the processes have gone apart.
  bool is_over() const { return is_over_; }

  // Ending is what a process knows of the run at its end.
  struct Ending {
    std::optional<Failure> failure;
    // Each has one entry for each rank and deputy.
    std::vector<std::uint64_t> hashes;
    std::vector<std::int64_t> peak_bytes;
    std::uint64_t copies_on_write = 0;
  };
  // end returns what all processes know: what the owners of ranks say, sums, and the failure of the
  // first rank that failed by itself. Called once, when no rank is left. Raises ProcessLost if one
  // has ended, and ProcessesApart if one isn't in this run.
  Ending end(Ending own);

 private:
  // place returns a frame without a payload at the present exchange.
  ProcessFrame place(ProcessFrame::Kind kind, std::string_view name) const {
    return {.kind = kind, .run = run_, .number = number_, .name = std::string(name)};
  }
  std::vector<ProcessBytes> transfer(const ProcessFrame& here, gsl::span<const Parcel> parcels,
                                     gsl::span<const int> from);
  std::vector<Parcel> notes_of(const ProcessFrame& here, gsl::span<const int> from) const;
  int waits_in_vain(const ProcessFrame& here) const;
  [[noreturn]] void end_rank() const;
  static void frame_all(const ProcessFrame& here, std::vector<Parcel>& parcels);
  [[noreturn]] void refuse_place(int process, const ProcessFrame& there,
                                 const ProcessFrame& here) const;
  bool keep_ending(int process, ProcessFrame& frame);
  void see(int process, ProcessFrame& frame, std::string_view name);
  ProcessBytes ending_bytes(const Ending& own) const;
  void swap_endings(const ProcessBytes& own);

  WorldSpread& spread_;
  const WorldOptions& options_;
  EndRank end_rank_;
  std::vector<int> owners_;  // of ranks
  std::uint32_t run_;
  std::uint64_t number_ = 0;
  bool is_over_ = false;
  // True if the run is over because of what came from another process.
  bool is_told_ = false;
  std::string apart_;  // says where the run was when another process had ended; else empty
  std::vector<std::uint64_t> sent_;    // the last exchange in which each process was sent something
  std::vector<ProcessBytes> endings_;  // by process; empty until they have come
  std::exception_ptr lost_;
};

}  // namespace simmesh
