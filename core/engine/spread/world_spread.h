#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "core/engine/schedules/schedule.h"
#include "core/engine/spread/processes.h"

namespace simmesh {

// WorldSpread spreads the ranks of Worlds over processes. Each process runs the whole program, with
// all ranks, but a rank has data only in the process that owns it. Elsewhere it is a ghost, whose
// tensors have shapes only. Since a run is determined by its program, all processes take the same
// steps, and find the same deadlocks and mismatches, without a message between them. Only data
// crosses. docs/processes.md has the algorithm and its costs.
//
// A World of shapes only has no data to spread. A World that a rank runs belongs to the owner of
// that rank.
class WorldSpread {
 public:
  // OwnerOf returns the process that owns a rank of a World of so many ranks. It has to return the
  // same in every process.
  struct RankOfWorld {
    RankId rank = 0;
    std::size_t ranks = 1;
  };
  using OwnerOf = std::function<int(const RankOfWorld&)>;

  // The processes must outlive the WorldSpread. Without owner_of each process owns neighbouring
  // ranks, in numbers that differ by one at most.
  explicit WorldSpread(Processes& processes, OwnerOf owner_of = nullptr);

  Processes& processes() { return processes_; }
  int number() const { return processes_.number(); }
  int count() const { return processes_.count(); }
  // owner_of returns the owner of a rank. Raises a ValueError for one that isn't there.
  int owner_of(const RankOfWorld& rank) const;

  // tell_errors lets the owner of a rank tell the others the error of each operator, for programs
  // that catch errors which elements have caused and go on. It costs an exchange for each operator;
  // without it such an error ends the run. All processes call it.
  void tell_errors() { tells_errors_ = true; }
  bool tells_errors() const { return tells_errors_; }

  // next_run numbers the runs of the program, from 1 on. All processes count alike.
  std::uint32_t next_run() { return ++runs_; }

  // of_first returns the bytes of the first process that has some, for what a run has left: it has
  // them in one process. All processes call it outside any run; `own` is null where there are none.
  // nullopt if all processes have some, or none has. Raises ProcessesApart if another process asks
  // for something else.
  std::optional<ProcessBytes> of_first(std::string_view name, const ProcessBytes* own);

  // active returns the WorldSpread of the innermost scope, null for none.
  static WorldSpread* active() { return active_; }
  // writes_files is true in the process that writes the files of the program: process 0 of those
  // that are spread over, or the only one.
  static bool writes_files() { return !active_ || active_->number() == 0; }

 private:
  friend class SpreadScope;

  static inline WorldSpread* active_ = nullptr;

  Processes& processes_;
  OwnerOf owner_of_;
  std::uint32_t runs_ = 0;
  std::uint64_t questions_ = 0;
  bool tells_errors_ = false;
};

// SpreadScope spreads the Worlds that run in its scope. One thread of the program makes scopes and
// runs Worlds in them.
class SpreadScope {
 public:
  explicit SpreadScope(WorldSpread& spread) : outer_(WorldSpread::active_) {
    WorldSpread::active_ = &spread;
  }
  ~SpreadScope() { WorldSpread::active_ = outer_; }
  SpreadScope(const SpreadScope&) = delete;
  SpreadScope& operator=(const SpreadScope&) = delete;

 private:
  WorldSpread* outer_;
};

}  // namespace simmesh
