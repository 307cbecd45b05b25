#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <vector>

#include "core/trace/event.h"

namespace simmesh {

// Trace keeps the newest events of a run, oldest first, in a ring of bounded size. It is always on:
// recording an event is a few stores.
class Trace {
 public:
  explicit Trace(std::size_t events_max) : events_max_(events_max) {}

  void record(const Event& event) {
    ++recorded_;
    if (next_ == end_ && !make_room()) [[unlikely]]
      return;
    *next_++ = event;
  }

  void clear() {
    events_.clear();
    recorded_ = 0;
    next_ = end_ = nullptr;
  }

  // recorded counts all events of the run; size those that are still kept.
  std::uint64_t recorded() const { return recorded_; }
  std::size_t size() const { return events_.size(); }
  // operator[] counts from the oldest event kept.
  const Event& operator[](std::size_t i) const {
    std::size_t oldest = recorded_ > events_.size() ? std::size_t(next_ - events_.data()) : 0;
    return events_[(oldest + i) % events_.size()];
  }

 private:
  // make_room makes room for one more event, or starts over at the begin of a full ring. Returns
  // whether there is a place.
  bool make_room();

  std::size_t events_max_;
  std::vector<Event> events_;
  std::uint64_t recorded_ = 0;
  // The place of the next event, which is the oldest one's once the ring is full, and the end of
  // the places. The event is written there field by field: an event that was built elsewhere would
  // be read in wider words than it was written in, which is slow on processors.
  Event* next_ = nullptr;
  Event* end_ = nullptr;
};

// write_text writes one line per event: "12 rank 3 arrive all_reduce group 1 #4 elements 256
// train.cpp:42".
void write_text(std::ostream& out, const Trace& trace);

}  // namespace simmesh
