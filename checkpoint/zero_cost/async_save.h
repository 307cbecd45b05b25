#pragma once

#include "checkpoint/catalog/location.h"
#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/save_load/save.h"
#include "checkpoint/zero_cost/writer.h"

namespace simmesh::checkpoint {

// AsyncSaveOptions say what is saved, as those of save do, and how.
struct AsyncSaveOptions {
  SaveOptions save = {};
  BackgroundOptions background = {};
};

// async_save copies a state to the host's memory at once, and gives it to a writer, which saves it
// while training goes on: what the tensors become later is not saved. All ranks of the world call
// it. The writers are deputies, with collectives of their own, and do what save does, commit and
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
// deputies.
//
// In a simulated device the copy is on the stream "checkpoint copies" and what is written on
// "checkpoint writer". DeviceReport::Stream::exposed_us of these is how long training stood still:
// until the copy was made, and until a save made room.
AsyncSave async_save(const StateDict& state, const Location& location,
                     const AsyncSaveOptions& options = {});

}  // namespace simmesh::checkpoint
