#pragma once

#include "checkpoint/catalog/location.h"
#include "checkpoint/catalog/state_dict.h"
#include "checkpoint/save_load/save.h"
#include "checkpoint/zero_cost/writer.h"

namespace simmesh::checkpoint {

// AsyncSaveOptions are the options of async_save: those of save, and those of the background.
struct AsyncSaveOptions {
  SaveOptions save = {};
  BackgroundOptions background = {};
};

// async_save copies a state to the host's memory at once, and gives the copy to a writer, which
// saves it while training continues. Later changes of the tensors are not saved. All ranks of the
// world call it. The writers are deputies with collectives of their own. They do everything that
// save does, the commit too. A run ends after its writers.
//
//   checkpoint::AsyncSave saving =
//       checkpoint::async_save(state, checkpoint::Directory("run2/step_10"));
//   backward(sum(model(x)));   // the next steps
//   saving.wait();
//
// If in_flight saves are running, it first waits for the oldest one. It raises the error of an
// earlier save that nobody has waited for, at the latest when that save has to make room. Raises a
// ValueError for an in_flight below 1, a bandwidth that isn't above 0, and a world without
// deputies.
//
// A simulated device has the copy on the stream "checkpoint copies" and the writes on "checkpoint
// writer". DeviceReport::Stream::exposed_us of these is the time that training waited: for the
// copy, and for a save to make room.
AsyncSave async_save(const StateDict& state, const Location& location,
                     const AsyncSaveOptions& options = {});

}  // namespace simmesh::checkpoint
