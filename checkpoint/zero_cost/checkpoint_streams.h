#pragma once

#include <functional>

#include "core/clock/stream.h"

namespace simmesh::checkpoint {

// CheckpointStreams are the streams of a rank's simulated device for copies and writes of states.
class CheckpointStreams {
 public:
  static CheckpointStreams& of_this_rank();

  // copy calls `work`, whose copies run after the current stream, and returns their end.
  StreamEvent copy(const std::function<void()>& work) const;
  // write writes that many bytes after their copy, and returns the end.
  StreamEvent write(const StreamEvent& copied, double bytes, double gb_s) const;

  CheckpointStreams();

 private:
  Stream copies_, writer_;
};

}  // namespace simmesh::checkpoint
