#include "core/clock/stream.h"

namespace simmesh {

void StreamEvent::synchronize() const {
  if (Clock* clock = Clock::active()) clock->synchronize(event_);
}

Stream Stream::make(std::string name) {
  Clock* clock = Clock::active();
  return clock ? Stream(clock->make_stream(std::move(name))) : Stream();
}

Stream Stream::current() {
  Clock* clock = Clock::active();
  return clock ? Stream(clock->current_stream()) : Stream();
}

StreamEvent Stream::record() const {
  Clock* clock = Clock::active();
  return clock ? StreamEvent(clock->record(index_)) : StreamEvent();
}

void Stream::wait(const StreamEvent& event) const {
  if (Clock* clock = Clock::active()) clock->wait(index_, event.event());
}

void Stream::wait(const Stream& other) const {
  if (other != *this) wait(other.record());
}

void Stream::uses(DeviceAddress address) const {
  if (Clock* clock = Clock::active()) clock->record_stream(address, index_);
}

StreamScope::StreamScope(const Stream& stream) : outer_(Stream::current()) {
  if (Clock* clock = Clock::active()) clock->set_current_stream(stream.index());
}

StreamScope::~StreamScope() {
  if (Clock* clock = Clock::active()) clock->set_current_stream(outer_.index());
}

}  // namespace simmesh
