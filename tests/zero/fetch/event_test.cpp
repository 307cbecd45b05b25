#include "zero/fetch/event.h"

#include <gtest/gtest.h>
#include <limits>

#include "zero/fetch/pretty.h"

namespace simmesh::zero {
namespace {

TEST(ZeroEvent, IsWrittenWithPrettyCounts) {
  EXPECT_EQ(to_string(Event{.kind = EventKind::fetch, .step = 1, .params = {3, 4}}),
            "fetch at step 1: parameters 3, 4");
  EXPECT_EQ(to_string(Event{.kind = EventKind::entered,
                            .step = 2,
                            .module = 5,
                            .available = -1234567,
                            .queue_length = 1000}),
            "entered at step 2: module 5, -1,234,567 elements available, 1,000 queued");
  EXPECT_EQ(to_string(Event{.kind = EventKind::collective,
                            .name = "all_reduce",
                            .numel = 4096,
                            .dtype = "float32",
                            .ranks = {0, 1}}),
            "collective at step 0: all_reduce of 4,096 elements of float32, ranks 0, 1");
  EXPECT_EQ(to_string(Event{.kind = EventKind::copy_out, .bytes = 142592}),
            "copy_out at step 0: 142,592 B (139.25 KiB) gathered");
}

// Whatever an event carries, it can be printed: dumps are made when something is wrong already.
TEST(ZeroEvent, CanAlwaysBeWritten) {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (int kind = 0; kind < 40; ++kind) {
    Event event{.kind = EventKind(kind), .step = least, .available = least, .bytes = least};
    event.mode = TraceMode(kind);
    EXPECT_FALSE(to_string(event).empty());
  }
  EXPECT_EQ(to_string(TraceMode(9)), "unknown");
}

TEST(Pretty, GroupsDigits) {
  EXPECT_EQ(pretty_count(0), "0");
  EXPECT_EQ(pretty_count(-999), "-999");
  EXPECT_EQ(pretty_count(1000), "1,000");
  EXPECT_EQ(pretty_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
  EXPECT_EQ(pretty_bytes(1023), "1,023 B");
  EXPECT_EQ(pretty_bytes(std::int64_t(1) << 40), "1,099,511,627,776 B (1.00 TiB)");
}

}  // namespace
}  // namespace simmesh::zero
