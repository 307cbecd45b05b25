#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <vector>

#include <simmesh/core/trace/event.h>

namespace simmesh {

// Trace keeps the newest events of a run, oldest first, in a ring of bounded size. It is always on:
// recording is a store.
class Trace {
 public:
  explicit Trace(std::size_t events_max) : events_max_(events_max) {}

  void record(const Event& event) {
    if (events_.size() < events_max_)
      events_.push_back(event);
    else if (events_max_ > 0)
      events_[std::size_t(recorded_ % events_max_)] = event;
    ++recorded_;
  }

  void clear() {
    events_.clear();
    recorded_ = 0;
  }

  // recorded counts all events of the run; size those that are still kept.
  std::uint64_t recorded() const { return recorded_; }
  std::size_t size() const { return events_.size(); }
  // operator[] counts from the oldest event kept.
  const Event& operator[](std::size_t i) const {
    std::uint64_t first = recorded_ - events_.size();
    return events_[std::size_t((first + i) % events_max_)];
  }

 private:
  std::size_t events_max_;
  std::vector<Event> events_;
  std::uint64_t recorded_ = 0;
};

// write_text writes one line an event: "12 rank 3 arrive all_reduce group 1 #4 256 elements
// train.cpp:42".
void write_text(std::ostream& out, const Trace& trace);

// write_chrome_json writes the events as Chrome trace JSON, which Perfetto opens: one track a rank,
// schedule steps as microseconds.
void write_chrome_json(std::ostream& out, const Trace& trace);

}  // namespace simmesh
