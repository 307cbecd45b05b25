#include "checkpoint/zero_cost/async_save.h"

#include "checkpoint/zero_cost/checkpoint_streams.h"
#include "checkpoint/zero_cost/staged_state.h"

namespace simmesh::checkpoint {

AsyncSave async_save(const StateDict& state, const Location& location,
                     const AsyncSaveOptions& options) {
  Writer& writer = Writer::of_this_rank();
  Writer::check(options.background);
  writer.make_room(options.background.in_flight);
  auto staged = std::make_shared<StagedState>(state);
  StreamEvent copied = CheckpointStreams::of_this_rank().copy([&] {
    staged->launch_copy(staged->ranges());
    staged->copy(staged->ranges());
  });
  // Training waits for the copy, since the next step changes the tensors.
  Stream::current().wait(copied);
  return writer.start({.work =
                           [staged, location, save_options = options.save] {
                             return save(staged->state(), location, save_options);
                           },
                       .what = location.text(),
                       .copied = copied,
                       .write_gb_s = options.background.write_gb_s});
}

}  // namespace simmesh::checkpoint
