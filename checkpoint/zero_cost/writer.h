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

// The deputies of each rank that write and copy checkpoints (see WorldOptions::deputies). A world
// needs one for async_save, and two for ZeroCostSaver.
inline constexpr std::size_t writing_deputy = 0, copying_deputy = 1;

// BackgroundOptions bound the saves beside training, and give their cost in virtual time.
struct BackgroundOptions {
  // The most saves that run at a time, each with its copy of the state. The next one waits.
  std::size_t in_flight = 1;
  // The store's bandwidth for one rank, in 2^30 bytes a second. It counts on simulated devices
  // only.
  double write_gb_s = 2.0;
};

// AsyncSave is a save of a rank's writer, running or ended: a cheap value for the rank that called
// async_save. torch.distributed.checkpoint.async_save returns a future in its place.
class AsyncSave {
 public:
  // done is true if the save has ended, well or not. It lets the schedule choose.
  bool done(CallSite site = CallSite::here()) const;
  // wait blocks until the save has ended, and returns its report. Raises the writer's error each
  // time. The text names the rank, the file and the reason. If the writer of another rank is gone,
  // it raises as soon as nothing else can run. It is no collective.
  SaveReport wait(CallSite site = CallSite::here()) const;

 private:
  friend class Writer;
  struct State;
  explicit AsyncSave(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

// Writer keeps the running saves of a rank's writer, the oldest first.
class Writer {
 public:
  static Writer& of_this_rank();

  // check raises a ValueError for an in_flight below 1, and for a bandwidth that isn't above 0.
  static void check(const BackgroundOptions& options);
  // raise_if_failed raises the error of a save that has failed, unless somebody has it already.
  void raise_if_failed();
  // make_room waits until fewer saves than that are running. The current stream of a simulated
  // device waits, too.
  void make_room(std::size_t in_flight);

  // Job is the work of the writer, its name for messages, and the end of the copy.
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
