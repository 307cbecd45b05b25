#include "core/clock/timeline.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

std::vector<DeviceReport> resolved(const std::vector<Timeline>& logs) {
  std::vector<const Timeline*> pointers;
  for (const Timeline& log : logs) pointers.push_back(&log);
  return resolve_times(pointers);
}

Timeline two_streams() {
  Timeline log;
  log.add_stream("compute");
  log.add_stream("communication");
  return log;
}

// Streams run side by side; only a wait orders one after the other.
TEST(Timeline, StreamsRunSideBySide) {
  Timeline apart = two_streams(), behind = two_streams();
  for (Timeline* log : {&apart, &behind}) {
    log->launch(0, 10);
    Timeline::EventIndex event = log->record(0);
    if (log == &behind) log->wait(1, event);
    log->launch(1, 5);
  }
  EXPECT_EQ(resolved({apart})[0].makespan_us, 10);
  EXPECT_EQ(resolved({behind})[0].makespan_us, 15);
  EXPECT_EQ(resolved({behind})[0].streams[1].busy_us, 5);
}

// A wait of the host delays all streams, from then on.
TEST(Timeline, TheHostHoldsUpWhatFollows) {
  Timeline log = two_streams();
  log.launch(1, 8);
  log.launch(0, 1);
  log.synchronize(log.record(1));
  log.launch(0, 2);
  EXPECT_EQ(resolved({log})[0].makespan_us, 10);
}

// The time that the first stream waited for each other one, directly or through the host.
TEST(Timeline, SaysForWhichStreamTheFirstOneWaited) {
  Timeline log = two_streams();
  log.add_stream("copies");
  log.launch(0, 1);
  log.launch(1, 5);
  log.launch(2, 9);
  Timeline::EventIndex first = log.record(1), second = log.record(2);
  log.wait(0, first);
  log.launch(0, 1);
  log.synchronize(first);
  log.synchronize(second);
  log.launch(0, 1);
  DeviceReport report = resolved({log})[0];
  EXPECT_EQ(report.streams[0].exposed_us, 0);
  EXPECT_EQ(report.streams[1].exposed_us, 4);
  EXPECT_EQ(report.streams[2].exposed_us, 3);
  EXPECT_EQ(report.makespan_us, 10);
}

// If this fails, a trace file shows operations at wrong times or under wrong names.
TEST(Timeline, SpansSayWhenEachOperationRan) {
  std::vector<Timeline> logs(2, two_streams());
  for (std::size_t rank = 0; rank < 2; ++rank) {
    logs[rank].launch(0, double(10 * (rank + 1)));
    logs[rank].label(0, {"matmul", {"a.cpp", 3}});
    Timeline::EventIndex event = logs[rank].record(0);
    logs[rank].wait(1, event);
    logs[rank].launch(1, 4, {.group = 0, .sequence = 0, .members = 2});
    logs[rank].label(1, {"all_reduce", {"a.cpp", 4}});
  }
  std::vector<OperationSpan> spans;
  std::vector<const Timeline*> pointers = {&logs[0], &logs[1]};
  resolve_times(pointers, &spans);
  ASSERT_EQ(spans.size(), 4u);
  auto expect_span = [&](std::size_t i, const OperationSpan& expected) {
    EXPECT_EQ(spans[i].log, expected.log);
    EXPECT_EQ(spans[i].stream, expected.stream);
    EXPECT_EQ(spans[i].begin_us, expected.begin_us);
    EXPECT_EQ(spans[i].end_us, expected.end_us);
    EXPECT_STREQ(spans[i].label.name, expected.label.name);
  };
  expect_span(0, {0, 0, 0, 10, {"matmul"}});
  expect_span(1, {0, 1, 10, 24, {"all_reduce"}});
  expect_span(2, {1, 0, 0, 20, {"matmul"}});
  expect_span(3, {1, 1, 20, 24, {"all_reduce"}});
}

// A collective ends its cost after the slowest member is ready, on all of them.
TEST(Timeline, CollectivesEndTogether) {
  std::vector<Timeline> logs(3, two_streams());
  for (std::size_t rank = 0; rank < 3; ++rank) {
    logs[rank].launch(0, double(10 * (rank + 1)));
    logs[rank].launch(0, 4, {.group = 0, .sequence = 0, .members = 3});
    logs[rank].launch(0, 1);
  }
  for (const DeviceReport& report : resolved(logs)) {
    EXPECT_TRUE(report.is_complete);
    EXPECT_EQ(report.makespan_us, 35);
  }
  EXPECT_EQ(resolved(logs)[0].exposed_communication_us, 24);
  EXPECT_EQ(resolved(logs)[2].exposed_communication_us, 4);
}

// Only the waits of the computing stream are exposed.
TEST(Timeline, ExposesWhatComputeWaitsFor) {
  for (double compute_us : {0.0, 3.0, 20.0}) {
    std::vector<Timeline> logs(2, two_streams());
    for (Timeline& log : logs) {
      log.launch(1, 10, {.group = 0, .sequence = 0, .members = 2});
      log.launch(0, compute_us);
      log.wait(0, log.record(1));
      log.launch(0, 1);
    }
    EXPECT_EQ(resolved(logs)[1].exposed_communication_us, std::max(0.0, 10 - compute_us));
  }
}

// Collectives of one group share a communicator, on whatever streams they are; those of two groups
// don't.
TEST(Timeline, ACommunicatorRunsOneAtATime) {
  for (std::uint32_t other_group : {0u, 1u}) {
    std::vector<Timeline> logs(2, two_streams());
    for (Timeline& log : logs) {
      log.launch(0, 6, {.group = 0, .sequence = 0, .members = 2});
      log.launch(1, 6,
                 {.group = other_group, .sequence = other_group == 0 ? 1u : 0u, .members = 2});
    }
    EXPECT_EQ(resolved(logs)[0].makespan_us, other_group == 0 ? 12 : 6);
  }
}

// Ranks may reach collectives of different groups in different orders, on different streams.
TEST(Timeline, GroupsMayBeMetInAnyOrder) {
  std::vector<Timeline> logs(2, two_streams());
  for (std::size_t rank = 0; rank < 2; ++rank) {
    StreamIndex first = StreamIndex(rank), second = StreamIndex(1 - rank);
    logs[rank].launch(first, 2, {.group = first, .sequence = 0, .members = 2});
    logs[rank].launch(second, 2, {.group = second, .sequence = 0, .members = 2});
  }
  EXPECT_TRUE(resolved(logs)[0].is_complete);
  EXPECT_EQ(resolved(logs)[0].makespan_us, 2);
}

// On a cluster these two ranks would hang: each lets the other's collective wait for its own.
TEST(Timeline, SaysWhereDevicesWouldHang) {
  std::vector<Timeline> logs(2, two_streams());
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    logs[rank].launch(0, 2, {.group = rank, .sequence = 0, .members = 2});
    logs[rank].wait(1, logs[rank].record(0));
    logs[rank].launch(1, 2, {.group = 1 - rank, .sequence = 0, .members = 2});
  }
  EXPECT_FALSE(resolved(logs)[0].is_complete);
}

// A message ends its cost after both sides are ready; one side's stream runs it, the other one's
// only waits for it.
TEST(Timeline, MessagesWaitForBothSides) {
  std::vector<Timeline> logs(2, two_streams());
  logs[0].launch(0, 10);
  logs[1].launch(0, 3);
  MessageTimes message{.sender = {0, logs[0].record(0)}, .receiver = {1, logs[1].record(0)}};
  message.cost_us = 5;
  logs[0].launch(0, message);
  logs[1].wait(0, message);
  std::vector<DeviceReport> reports = resolved(logs);
  for (const DeviceReport& report : reports) {
    EXPECT_TRUE(report.is_complete);
    EXPECT_EQ(report.makespan_us, 15);
  }
  EXPECT_EQ(reports[0].streams[0].busy_us, 15);
  EXPECT_EQ(reports[0].exposed_communication_us, 5);
  EXPECT_EQ(reports[1].streams[0].busy_us, 3);
  EXPECT_EQ(reports[1].exposed_communication_us, 12);
}

// Messages that were started may be waited for in any order, on both sides.
TEST(Timeline, MessagesMayBeMetInAnyOrder) {
  std::vector<Timeline> logs(2, two_streams());
  std::vector<MessageTimes> messages;
  for (double cost_us : {4.0, 7.0})
    messages.push_back({{0, logs[0].record(0)}, {1, logs[1].record(0)}, cost_us});
  for (std::size_t i = 0; i < 2; ++i) {
    logs[0].wait(0, messages[i]);
    logs[1].wait(0, messages[1 - i]);
  }
  for (const DeviceReport& report : resolved(logs)) {
    EXPECT_TRUE(report.is_complete);
    EXPECT_EQ(report.makespan_us, 7);
  }
}

}  // namespace
}  // namespace simmesh
