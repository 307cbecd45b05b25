#pragma once

#include <gsl/span>
#include <optional>
#include <string>
#include <vector>

#include "core/clock/device_model.h"
#include "core/clock/race_checker.h"
#include "core/clock/timeline.h"

namespace simmesh {

// DeviceEvent is a point in a stream that others can wait for. An event that was never recorded has
// already happened.
struct DeviceEvent {
  std::optional<Timeline::EventIndex> index;
  VectorClock before;
};

// Launch is an operation that is given to a stream.
struct Launch {
  const char* name = "";
  CallSite site = {};
  gsl::span<const MemoryRange> reads = {};
  gsl::span<const MemoryRange> writes = {};
  double cost_us = 0;
  const CollectiveKey* collective = nullptr;
  const MessageTimes* message = nullptr;
  // True for a copy between the device and the host's memory; other operations don't use the host's
  // memory.
  bool copies_host_memory = false;
};

// Clock annotates the program of one rank with the streams of its device: which operation is on
// which stream, what it reads and writes, and what it waits for. Data is computed as soon
// as the rank launches an operation; the clock only knows what a device would do. It reports races
// between operations at once, and keeps the log from which times are computed after the run.
//
// Stream (core/clock/stream.h) is how programs use it.
class Clock {
 public:
  // The ledger gets the model of the allocator.
  Clock(const DeviceModel& model, std::uint32_t rank, Ledger& ledger);
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // active returns the clock of the rank that runs on this thread; null where there is none.
  static Clock* active() { return active_; }
  static void set_active(Clock* clock) { active_ = clock; }

  const DeviceModel& model() const { return model_; }
  const Timeline& timeline() const { return timeline_; }
  // label_operations keeps the name and the site of each operation from now on, for OperationSpan.
  // Call it before the first one.
  void label_operations() { labels_operations_ = true; }
  const AllocatorFigures& memory() const { return ledger_.allocator()->figures(); }

  StreamIndex make_stream(std::string name);
  StreamIndex current_stream() const { return current_; }
  // set_current_stream also changes the pools that new storages come from.
  void set_current_stream(StreamIndex stream);

  // launch puts an operation on the current stream, or notes how one of the host uses memory.
  // Raises a RuntimeError where it races with an earlier one. Quiet ones don't count.
  void launch(const Launch& launch);

  DeviceEvent record(StreamIndex stream);
  void wait(StreamIndex stream, const DeviceEvent& event);
  // now returns the current stream's latest point, for other ranks to refer to; wait makes the
  // current stream wait for the end of a message.
  RankEvent now();
  void wait(const MessageTimes& message) { timeline_.wait(current_, message); }
  // synchronize makes the host wait.
  void synchronize(const DeviceEvent& event);
  void record_stream(DeviceAddress address, StreamIndex stream);

  // start_apart puts an operation on a stream of its own, which waits for the current stream as it
  // is now: this is how a communicator runs asynchronous operations. Returns the operation's end.
  DeviceEvent start_apart(StreamIndex stream, const Launch& launch);

  // Quiet hides launches that are parts of another one.
  class Quiet {
   public:
    Quiet() : clock_(active()) {
      if (clock_) ++clock_->quiet_;
    }
    ~Quiet() {
      if (clock_) --clock_->quiet_;
    }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

   private:
    Clock* clock_;
  };
  bool is_quiet() const { return quiet_ > 0; }

 private:
  struct StreamState {
    VectorClock before;  // of the next operation
    std::uint64_t operations = 0;
  };

  void put(StreamIndex stream, const Launch& launch);
  void use(const Launch& launch, gsl::span<const MemoryRange> ranges, RaceChecker::Use use,
           const StreamOperation& operation);

  static constinit inline thread_local Clock* active_ = nullptr;

  DeviceModel model_;
  Ledger& ledger_;
  RaceChecker checker_;
  Timeline timeline_;
  VectorClock host_;
  std::vector<StreamState> streams_;
  std::vector<std::string> names_;
  StreamIndex current_ = 0;
  int quiet_ = 0;
  bool labels_operations_ = false;
  std::uint32_t rank_;
};

}  // namespace simmesh
