#include "collectives/point_to_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>

#include "core/check/error.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

TEST(PointToPoint, APipelineKeepsItsOrder) {
  run_every_schedule(4, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    auto me = std::int64_t(rank.id());
    for (std::int32_t step = 0; step < 5; ++step) {
      Tensor value = full({2}, DType::int32, step);
      if (me > 0) value = recv(Dims{2}, DType::int32, {.peer = me - 1}, world).tensor;
      EXPECT_EQ(value.values<std::int32_t>()[0], step);
      if (me < 3) send(value, {.peer = me + 1}, world);
    }
  });
}

TEST(PointToPoint, AnySourceTakesTheEarliestMessage) {
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"}) {
    World world({.ranks = 4, .schedule = Schedule::parse(schedule)});
    Outcome outcome = world.run([](Rank& rank) {
      ProcessGroup group = ProcessGroup::world();
      if (rank.id() > 0) return send(full({1}, DType::int64, rank.id()), {.peer = 0}, group);
      std::int64_t sum = 0;
      for (int i = 0; i < 3; ++i) {
        Received received = recv(Dims{1}, DType::int64, {}, group);
        EXPECT_EQ(received.tensor.values<std::int64_t>()[0], received.peer);
        sum += received.peer;
      }
      EXPECT_EQ(sum, 6);
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
    EXPECT_EQ(outcome.touches.size(), 3u);
  }
}

TEST(PointToPoint, AMessageOfAnotherSizeNamesBothSides) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank& rank) {
    ProcessGroup group = ProcessGroup::world();
    if (rank.id() == 0)
      send(zeros({3}, DType::float32), {.peer = 1}, group);
    else
      recv(Dims{4}, DType::float32, {.peer = 0}, group);
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.failure->message, ::testing::HasSubstr("rank 0 sends float32[3] at"));
  EXPECT_THAT(outcome.failure->message, ::testing::HasSubstr("rank 1 receives float32[4] at"));
}

TEST(PointToPoint, PeersOutsideTheGroupAreRefused) {
  World world({.ranks = 2});
  Outcome outcome = world.run(
      [](Rank&) { send(zeros({1}, DType::float32), {.peer = 2}, ProcessGroup::world()); });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THROW(outcome.rethrow(), Error);
}

// Runs a body on two devices, under all schedules, which must give the same times.
Outcome on_two_devices(const DeviceModel& device, const std::function<void(Rank&)>& body) {
  std::optional<Outcome> first;
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = 2,
                   .schedule = Schedule::parse(schedule),
                   .threads = threads,
                   .device = device});
      Outcome outcome = world.run(body);
      if (!first) {
        first = std::move(outcome);
        continue;
      }
      EXPECT_EQ(outcome.ok(), first->ok()) << schedule << report(outcome);
      for (std::size_t rank = 0; outcome.ok() && rank < outcome.devices.size(); ++rank)
        EXPECT_EQ(outcome.devices[rank].makespan_us, first->devices[rank].makespan_us) << schedule;
    }
  return std::move(*first);
}

// Rank 0 computes it before it sends, and rank 1 while it waits.
Tensor computed(int operations) {
  Tensor x = full({1024}, DType::float32, 1);
  for (int i = 0; i < operations; ++i) x = add(x, x);
  return x;
}

// The receiver has the message its cost after the sender was ready, by the link between them.
TEST(PointToPointOnDevices, AMessageTakesItsTime) {
  for (std::int64_t devices_per_host : {1, 2}) {
    DeviceModel device{.topology = {.devices_per_host = devices_per_host}};
    auto body = [](bool sends) {
      return [sends](Rank& rank) {
        ProcessGroup group = ProcessGroup::world();
        if (rank.id() == 0) {
          Tensor x = computed(3);
          if (sends) send(x, {.peer = 1}, group);
        } else if (sends) {
          recv(Dims{1024}, DType::float32, {.peer = 0}, group);
        }
      };
    };
    double ready_us = on_two_devices(device, body(false)).devices[0].makespan_us;
    Outcome outcome = on_two_devices(device, body(true));
    double message_us = device.topology.message_us(4096, device.topology.link_among(0, 1));
    EXPECT_GT(message_us, 0);
    EXPECT_EQ(outcome.devices[0].makespan_us, ready_us + message_us);
    EXPECT_EQ(outcome.devices[1].makespan_us, ready_us + message_us);
    EXPECT_EQ(outcome.devices[1].exposed_communication_us, ready_us + message_us);
    EXPECT_TRUE(outcome.devices[0].is_complete);
  }
}

// Work between the start of a message and its wait hides the message. Both sides may send first.
TEST(PointToPointOnDevices, ComputeHidesMessages) {
  auto body = [](int operations) {
    return [operations](Rank& rank) {
      ProcessGroup group = ProcessGroup::world();
      std::int64_t peer = 1 - std::int64_t(rank.id());
      Tensor x = computed(0);
      Work sent = isend(x, {.peer = peer}, group);
      Work received = irecv(Dims{1024}, DType::float32, {.peer = peer}, group);
      computed(operations);
      received.wait();
      sent.wait();
    };
  };
  Outcome hidden = on_two_devices({}, body(100)), exposed = on_two_devices({}, body(0));
  for (std::size_t rank : {0, 1}) {
    EXPECT_TRUE(hidden.devices[rank].is_complete);
    EXPECT_EQ(hidden.devices[rank].exposed_communication_us, 0);
    EXPECT_GT(exposed.devices[rank].exposed_communication_us, 0);
  }
}

// The tensor of a message that was started must not be written before its wait: a device may still
// read it.
TEST(PointToPointOnDevices, WritingWhatIsBeingSentIsARace) {
  for (bool waits_first : {false, true}) {
    Outcome outcome = on_two_devices({}, [waits_first](Rank& rank) {
      ProcessGroup group = ProcessGroup::world();
      if (rank.id() == 1) {
        recv(Dims{1024}, DType::float32, {.peer = 0}, group);
        return;
      }
      Tensor x = computed(0);
      Work sent = isend(x, {.peer = 1}, group);
      if (waits_first) sent.wait();
      add_(x, x);
      if (!waits_first) sent.wait();
    });
    EXPECT_EQ(outcome.ok(), waits_first);
    if (!waits_first) {
      EXPECT_THAT(outcome.failure->message, ::testing::HasSubstr("isend"));
    }
  }
}

}  // namespace
}  // namespace simmesh
