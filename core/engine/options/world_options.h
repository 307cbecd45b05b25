#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock/device_model.h"
#include "core/engine/options/arithmetic.h"
#include "core/engine/options/fault.h"
#include "core/engine/schedules/schedule.h"
#include "core/release/release.h"
#include "core/trace/log.h"

namespace simmesh {

class ThreadHost;

// WorldOptions are the options of a World. All have a default. There is one rank by default.
struct WorldOptions {
  std::size_t ranks = 1;
  // Fibers that each rank has beside its body, for work in the background: see Deputy.
  std::size_t deputies = 0;
  std::uint64_t seed = 0;
  Schedule schedule = Schedule::fifo();
  // Ranks are assigned to worker threads by rank modulo threads. The number changes no result and
  // no schedule.
  std::size_t threads = 1;
  Arithmetic arithmetic = Arithmetic::canonical();
  // The PyTorch whose behaviour is followed; docs/releases.md has the differences.
  Release release = newest_release;
  FaultPlan faults = {};
  // Gives each rank a device with streams, a clock and a caching allocator, and checks that streams
  // don't race. Changes no data and no schedule.
  std::optional<DeviceModel> device = {};
  // Ranks are threads of a pool, one of which runs at a time, instead of fibers: for programs that
  // keep state for each thread. Changes no result and no schedule. The host, if there is one, is
  // asked while ranks run, and must outlive the World.
  bool ranks_are_threads = false;
  ThreadHost* thread_host = nullptr;
  // Address space of a rank's stack, of which only pages that are touched use memory; 0 for 1 MiB
  // in a world of up to 4,096 ranks, 256 KiB in one of up to 65,536, and 64 KiB in a larger one.
  std::size_t stack_bytes = 0;
  // Below each stack is memory that can't be touched, if the world has no more than 4,096 ranks and
  // the system allows it: a stack that overflows ends the program at once, with a report. Without
  // it the overflow is found when the rank starts its next operation or returns.
  bool guard_pages = true;
  // Seconds of wall time after which a rank that hasn't given up its turn is reported, with the
  // calls that it is in, and the program ends with status 134; 0 for no limit.
  double timeout_seconds = 0;
  // New elements that no op has written are NaN (of integers -1), and memory that was given back is
  // overwritten with 0xA5.
#ifdef NDEBUG
  bool poison = false;
#else
  bool poison = true;
#endif
  bool record_choices = false;
  // The newest events that are kept; a trace file gets at least a million.
  std::size_t trace_events_max = 4 * 1024;
  // The file of the trace, in Chrome's format, which each run writes, also one that fails; empty:
  // none. core/engine/reports/run_trace.h describes the file.
  std::string trace_file = {};
  // In a world of shapes only no tensor has elements: schedule, collectives, ledger and events are
  // those of the world with data, as long as the program doesn't ask for a value, which is an
  // error. docs/shapes_only.md lists its limits.
  bool shapes_only = false;
  // A folded world, of shapes only, runs few ranks that stand for all: the given ones, else the
  // first and the last. The program must be the same on every rank.
  bool fold = false;
  std::vector<RankId> folded_onto = {};
  // Pairs of them whose figures have to be equal; none: the first and the last. Ranks of one kind
  // stand for that kind only, such as those of a stage of a pipeline.
  std::vector<std::pair<RankId, RankId>> folded_alike = {};
  Log log = {};
  // The program in a failure's repro line.
  std::string program = "simmesh";
};

// checked returns options with the ranks to fold onto, sorted, each once, and with the size of the
// stack. Raises a ValueError for options that are out of range: no ranks, more than 2^24 of them,
// no threads, a folded world with data or deputies, ranks to fold onto that aren't there, pairs of
// ranks that aren't run, a negative timeout.
WorldOptions checked(WorldOptions options);

// runs is true if a rank of a World with checked options runs; in a folded world most don't.
bool runs(const WorldOptions& options, RankId rank);

// Deputies are numbered after the ranks, in schedules and faults too: deputy h of rank r has the
// number deputy_id. rank_behind returns the rank of a deputy's number, and a rank's own. Ranks are
// crew 0, all deputies h are crew h + 1. name_of is for messages: "rank 3", or "deputy 0 of rank
// 3".
RankId deputy_id(const WorldOptions& options, RankId rank, std::size_t deputy);
RankId rank_behind(const WorldOptions& options, RankId id);
std::size_t crew_of(const WorldOptions& options, RankId id);
std::string name_of(const WorldOptions& options, RankId id);
// fibers returns the number of fibers of a World: its ranks, and their deputies.
std::size_t fibers(const WorldOptions& options);

}  // namespace simmesh
