#pragma once

#include <cstdint>
#include <gsl/span>
#include <string>
#include <utility>
#include <vector>

#include "core/check/call_site.h"
#include "core/clock/device_report.h"

namespace simmesh {

// CollectiveKey says which joint operation an entry is part of. The collectives of one group follow
// one another in the order of their sequence numbers, which count from 0, whatever streams they are
// on: they share a communicator.
struct CollectiveKey {
  std::uint32_t group = 0;
  std::uint64_t sequence = 0;
  std::size_t members = 0;
};

// RankEvent is an event in the log of a rank.
struct RankEvent {
  std::uint32_t rank = 0;
  std::uint32_t event = 0;
};

// MessageTimes is when a message from one rank to another is under way: for cost_us from the time
// at which both are ready.
struct MessageTimes {
  RankEvent sender;
  RankEvent receiver;
  double cost_us = 0;
};

// OperationLabel says which operation an entry is.
struct OperationLabel {
  const char* name = "";
  CallSite site = {};
};

// Timeline is the log of one device's streams, in the order of its program, without times: those
// depend on other ranks, and are resolved after the run.
class Timeline {
 public:
  using EventIndex = std::uint32_t;

  void add_stream(std::string name) { streams_.push_back({std::move(name), {}, false, {}}); }

  void launch(StreamIndex stream, double cost_us);
  void launch(StreamIndex stream, double cost_us, const CollectiveKey& key);
  void launch(StreamIndex stream, const MessageTimes& message);
  // record notes an event; wait makes a stream wait for one, synchronize the host, so that whatever
  // is launched later begins after it.
  EventIndex record(StreamIndex stream);
  void wait(StreamIndex stream, EventIndex event);
  // wait makes a stream wait for the end of a message.
  void wait(StreamIndex stream, const MessageTimes& message);
  void synchronize(EventIndex event);

  // label says which operation was launched last on a stream, for OperationSpan. A log has either a
  // label for each operation or none.
  void label(StreamIndex stream, const OperationLabel& label) {
    streams_[stream].labels.push_back(label);
  }
  const std::string& name_of(StreamIndex stream) const { return streams_[stream].name; }
  std::size_t streams() const { return streams_.size(); }

 private:
  friend class TimelineResolver;

  enum class Kind : std::uint8_t { launch, collective, message, record, wait, wait_message };
  struct Entry {
    Kind kind;
    std::uint32_t index = 0;       // event, collective in keys_, message in messages_
    std::uint32_t host_waits = 0;  // that came before it
    double cost_us = 0;
  };
  struct Stream {
    std::string name;
    std::vector<Entry> entries;
    bool communicates = false;
    std::vector<OperationLabel> labels;  // of its operations, in their order
  };

  void add(StreamIndex stream, Entry entry);

  std::vector<Stream> streams_;
  std::vector<CollectiveKey> keys_;
  std::vector<MessageTimes> messages_;
  std::vector<StreamIndex> event_streams_;  // by event
  std::vector<EventIndex> host_waits_;
};

// OperationSpan is the time in which an operation with a label ran. A collective and a message run
// from the time at which their stream reaches them, which includes the wait for other ranks.
struct OperationSpan {
  std::size_t log = 0;  // index of the rank's log
  StreamIndex stream = 0;
  double begin_us = 0;
  double end_us = 0;
  OperationLabel label;
};

// resolve_times gives each operation of all ranks its time. An operation begins when its stream is
// free and what it waits for has ended; a collective ends its cost after its last member was ready,
// a message its cost after both sides were. The host takes no time. Returns one report a rank,
// without memory; spans receives the operations that have ended and have a label, sorted by log,
// stream and time.
std::vector<DeviceReport> resolve_times(gsl::span<const Timeline* const> ranks,
                                        std::vector<OperationSpan>* spans = nullptr);

}  // namespace simmesh
