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
    ++recorded_;
    if (events_.size() < events_max_) [[unlikely]]
      return grow(event);
    if (events_max_ == 0) return;
    events_[next_] = event;
    if (++next_ == events_max_) next_ = 0;
  }

  void clear() {
    events_.clear();
    recorded_ = 0;
    next_ = 0;
  }

  // recorded counts all events of the run; size those that are still kept.
  std::uint64_t recorded() const { return recorded_; }
  std::size_t size() const { return events_.size(); }
  // operator[] counts from the oldest event kept.
  const Event& operator[](std::size_t i) const {
    std::size_t at = next_ + i;
    return events_[at < events_.size() ? at : at - events_.size()];
  }

 private:
  void grow(const Event& event);

  std::size_t events_max_;
  std::vector<Event> events_;
  std::uint64_t recorded_ = 0;
  std::size_t next_ = 0;  // the oldest event, once the ring is full
};

// write_text writes one line an event: "12 rank 3 arrive all_reduce group 1 #4 256 elements
// train.cpp:42".
void write_text(std::ostream& out, const Trace& trace);

// write_chrome_json writes the events as Chrome trace JSON, which Perfetto opens: one track a rank,
// schedule steps as microseconds.
void write_chrome_json(std::ostream& out, const Trace& trace);

}  // namespace simmesh
