#pragma once

#include <functional>

#include "core/clock/stream.h"

namespace simmesh::checkpoint {

// CheckpointStreams are the streams of a rank's simulated device on which states are copied and
// written.
class CheckpointStreams {
 public:
  static CheckpointStreams& of_this_rank();

  // copy lets work launch copies, behind what is on the current stream, and returns their end.
  StreamEvent copy(const std::function<void()>& work) const;
  // write lets so many bytes be written, once they are copied, and returns the end.
  StreamEvent write(const StreamEvent& copied, double bytes, double gb_s) const;

  CheckpointStreams();

 private:
  Stream copies_, writer_;
};

}  // namespace simmesh::checkpoint
