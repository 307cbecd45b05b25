#include "core/trace/trace.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

#include "core/check/check.h"

namespace simmesh {
namespace {

Trace recorded(std::size_t events_max, std::uint64_t events) {
  Trace trace(events_max);
  for (std::uint64_t step = 0; step < events; ++step) {
    Event event;
    event.step = step;
    event.rank = std::uint32_t(step % 3);
    event.kind = EventKind::arrive;
    event.operation = "all_reduce";
    event.group = 1;
    event.sequence = 4;
    event.elements = 256;
    event.site = {"/tree/train.cpp", 42};
    trace.record(event);
  }
  return trace;
}

// If this fails, the trace of a failure shows old events, or the newest ones out of order.
TEST(Trace, KeepsTheNewestOldestFirst) {
  for (std::size_t events_max : {0u, 1u, 2u, 3u, 7u})
    for (std::uint64_t events = 0; events <= 20; ++events) {
      Trace trace = recorded(events_max, events);
      EXPECT_EQ(trace.recorded(), events);
      ASSERT_EQ(trace.size(), std::min<std::uint64_t>(events, events_max));
      for (std::size_t i = 0; i < trace.size(); ++i)
        EXPECT_EQ(trace[i].step, events - trace.size() + i) << events_max << " " << events;
    }
}

// If this fails, a World's second run shows events of its first.
TEST(Trace, StartsAfreshAfterClear) {
  Trace trace = recorded(3, 8);
  trace.clear();
  EXPECT_EQ(trace.recorded(), 0u);
  EXPECT_EQ(trace.size(), 0u);
  Event event;
  event.step = 99;
  trace.record(event);
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace[0].step, 99u);
}

// If this fails, the documented line format changed.
TEST(Trace, TextHasOneLineAnEvent) {
  std::ostringstream out;
  write_text(out, recorded(2, 3));
  EXPECT_EQ(out.str(),
            "1 rank 1 arrive all_reduce group 1 #4 256 elements train.cpp:42\n"
            "2 rank 2 arrive all_reduce group 1 #4 256 elements train.cpp:42\n");
}

// If this fails, two kinds of events can't be told apart.
TEST(Trace, KindsHaveNames) {
  EXPECT_EQ(to_string(EventKind::arrive), "arrive");
  EXPECT_EQ(to_string(EventKind::complete), "complete");
  EXPECT_EQ(to_string(EventKind::send), "send");
  EXPECT_EQ(to_string(EventKind::receive), "receive");
  EXPECT_EQ(to_string(EventKind::match), "match");
  EXPECT_EQ(to_string(EventKind::yield), "yield");
  EXPECT_EQ(to_string(EventKind::fault), "fault");
  EXPECT_EQ(to_string(EventKind::finish), "finish");
  EXPECT_THROW(to_string(EventKind(99)), ContractViolation);
}

}  // namespace
}  // namespace simmesh
