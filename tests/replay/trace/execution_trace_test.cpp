#include "replay/trace/execution_trace.h"

#include <gtest/gtest.h>
#include <limits>

#include "tests/replay/trace_text.h"

namespace simmesh::replay {
namespace {

// A view of sizes and strides in a trace that has room for nothing else.
struct View {
  ExecutionTrace trace;
  TraceTensor tensor;
};

View view_of(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
             std::int64_t offset, std::int64_t elements) {
  View view;
  std::vector<std::int64_t>& numbers = view.trace.numbers;
  numbers = sizes;
  numbers.insert(numbers.end(), strides.begin(), strides.end());
  auto middle = std::uint32_t(sizes.size());
  view.tensor = {.offset = offset,
                 .elements = elements,
                 .item_bytes = 4,
                 .shape = {0, middle},
                 .strides = TraceRange{middle, std::uint32_t(numbers.size())}};
  return view;
}

TEST(ExecutionTrace, AViewEndsBehindItsLastElement) {
  View rows = view_of({3, 2}, {10, 1}, 5, 6);
  EXPECT_EQ(end_bytes(rows.trace, rows.tensor), (5 + 1 + 2 * 10 + 1) * 4);
  EXPECT_EQ(end_bytes(rows.trace, rows.tensor, false), (5 + 6) * 4);
  rows.tensor.strides.reset();
  EXPECT_EQ(end_bytes(rows.trace, rows.tensor), (5 + 6) * 4);
}

TEST(ExecutionTrace, AnEmptyViewEndsWhereItBegins) {
  View empty = view_of({0, 7}, {7, 1}, 9, 0);
  EXPECT_EQ(end_bytes(empty.trace, empty.tensor), 36);
  View scalar = view_of({}, {}, 9, 1);
  EXPECT_EQ(end_bytes(scalar.trace, scalar.tensor), 40);
}

TEST(ExecutionTrace, StridesOfABrokenTraceDoNotOverflow) {
  constexpr std::int64_t large = std::numeric_limits<std::int64_t>::max();
  View up = view_of({large, large}, {large, large}, 0, 1);
  EXPECT_EQ(end_bytes(up.trace, up.tensor), large);
  View down = view_of({large, large}, {-large, -large}, 0, 1);
  EXPECT_EQ(end_bytes(down.trace, down.tensor), -large);
}

TEST(ExecutionTrace, FindsNodesById) {
  ExecutionTrace trace = testing::trace_from(
      testing::trace_text({{.id = 9}, {.id = 5, .name = "record_param_comms"}}));
  ASSERT_NE(trace.find(5), nullptr);
  EXPECT_TRUE(is_communication(trace, *trace.find(5)));
  EXPECT_FALSE(is_communication(trace, *trace.find(9)));
  EXPECT_EQ(trace.find(6), nullptr);
  EXPECT_EQ(trace.find(10), nullptr);
}

}  // namespace
}  // namespace simmesh::replay
