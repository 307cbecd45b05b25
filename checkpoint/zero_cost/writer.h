#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "checkpoint/save_load/save.h"
#include "core/check/call_site.h"
#include "core/clock/stream.h"

namespace simmesh::checkpoint {

// The deputy of each rank that writes checkpoints, and the one that copies what they hold: see
// WorldOptions::deputies, of which a world needs one for async_save and two for ZeroCostSaver.
inline constexpr std::size_t writing_deputy = 0, copying_deputy = 1;

// BackgroundOptions say how far saving runs beside training, and what it costs in virtual time.
struct BackgroundOptions {
  // This many saves are under way at most, each with its copy of the state: the next one waits.
  std::size_t in_flight = 1;
  // What the store takes from one rank, in GB of 2^30 bytes a second. Only simulated devices ask.
  double write_gb_s = 2.0;
};

// AsyncSave is a save that a rank's writer is at, or was: a cheap value, for the rank that called
// async_save. It is what torch.distributed.checkpoint.async_save returns as a future.
class AsyncSave {
 public:
  // done says whether the save has ended, well or not; it lets the schedule choose.
  bool done(CallSite site = CallSite::here()) const;
  // wait blocks until the save has ended, and returns its report. Raises what the writer raised,
  // each time: the text says which rank's writer failed, at which file and why. Where the writer of
  // another rank is gone, it raises as soon as nothing else can run. Not a collective.
  SaveReport wait(CallSite site = CallSite::here()) const;

 private:
  friend class Writer;
  struct State;
  explicit AsyncSave(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

// Writer is what a rank knows of its writer: the saves that are under way, the oldest first.
class Writer {
 public:
  static Writer& of_this_rank();

  // check raises a ValueError for options that make no sense.
  static void check(const BackgroundOptions& options);
  // raise_if_failed raises the error of a save that has failed so far, if nobody has it yet.
  void raise_if_failed();
  // make_room waits until fewer saves than that are under way; of simulated devices the current
  // stream does, too.
  void make_room(std::size_t in_flight);

  // Job is what the writer does, what is written or averaged in words, and when it was copied.
  struct Job {
    std::function<SaveReport()> work;
    std::string what;
    StreamEvent copied = {};
    double write_gb_s = 2.0;
  };
  AsyncSave start(Job job);

 private:
  std::deque<AsyncSave> under_way_;
};

}  // namespace simmesh::checkpoint
