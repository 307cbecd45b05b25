#include "core/trace/trace.h"

#include <fmt/ostream.h>
#include <new>
#include <ostream>

#include "core/check/check.h"

namespace simmesh {

std::string_view to_string(EventKind kind) {
  switch (kind) {
    case EventKind::arrive: return "arrive";
    case EventKind::complete: return "complete";
    case EventKind::send: return "send";
    case EventKind::receive: return "receive";
    case EventKind::match: return "match";
    case EventKind::yield: return "yield";
    case EventKind::fault: return "fault";
    case EventKind::finish: return "finish";
  }
  SIMMESH_CHECK(false, "unknown EventKind {}", static_cast<int>(kind));
}

namespace {

// False if there is no memory for more events.
bool add_place(std::vector<Event>& events) {
  try {
    events.emplace_back();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

// Without memory for more events, the ring is as large as it has become.
bool Trace::make_room() {
  if (events_max_ == 0) return false;
  if (events_.size() < events_max_ && add_place(events_)) {
    next_ = &events_.back();
  } else {
    events_max_ = events_.size();
    if (events_max_ == 0) return false;
    next_ = events_.data();
  }
  end_ = events_.data() + events_.size();
  return true;
}

void write_text(std::ostream& out, const Trace& trace) {
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Event& event = trace[i];
    fmt::print(out, "{} rank {} {} {} group {} #{} {} elements {}\n", event.step, event.rank,
               to_string(event.kind), event.operation, event.group, event.sequence, event.elements,
               to_string(event.site));
  }
}

}  // namespace simmesh
