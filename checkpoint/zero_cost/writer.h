#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "checkpoint/async_save.h"
#include "core/clock/stream.h"
#include "core/engine/helper.h"

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
