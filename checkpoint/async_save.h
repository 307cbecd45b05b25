#pragma once

#include <memory>

#include "checkpoint/location.h"
#include "checkpoint/save.h"
#include "checkpoint/state_dict.h"
#include "core/check/call_site.h"

namespace simmesh::checkpoint {

// The helper of each rank that writes checkpoints, and the one that copies what they hold: see
// WorldOptions::helpers, of which a world needs one for async_save and two for ZeroCostSaver.
inline constexpr std::size_t writing_helper = 0, copying_helper = 1;

// BackgroundOptions say how far saving runs beside training, and what it costs in virtual time.
struct BackgroundOptions {
  // This many saves are under way at most, each with its copy of the state: the next one waits.
  std::size_t in_flight = 1;
  // What the store takes from one rank, in GB of 2^30 bytes a second. Only simulated devices ask.
  double write_gb_s = 2.0;
};

struct AsyncSaveOptions {
  SaveOptions save = {};
  BackgroundOptions background = {};
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

// async_save copies a state to the host's memory at once, and gives it to a writer, which saves it
// while training goes on: what the tensors become later is not saved. All ranks of the world call
// it. The writers are helpers, with collectives of their own, and do what save does, commit and
// all; a run doesn't end before they have.
//
//   checkpoint::AsyncSave saving =
//       checkpoint::async_save(state, checkpoint::Directory("run2/step_10"));
//   backward(sum(model(x)));   // the next steps
//   saving.wait();
//
// Where in_flight saves are under way, it first waits for the oldest one. An error of an earlier
// save that nobody has waited for is raised here, at the latest when that save has to make room.
// Raises a ValueError for no saves in flight, a bandwidth that isn't above 0, and a world without
// helpers.
//
// In a simulated device the copy is on the stream "checkpoint copies" and what is written on
// "checkpoint writer". DeviceReport::Stream::exposed_us of these is how long training stood still:
// until the copy was made, and until a save made room.
AsyncSave async_save(const StateDict& state, const Location& location,
                     const AsyncSaveOptions& options = {});

}  // namespace simmesh::checkpoint
