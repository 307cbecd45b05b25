#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <simmesh/collectives/point_to_point.h>
#include <simmesh/core/check/error.h>
#include <simmesh/tests/core/engine/every_schedule.h>

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
  EXPECT_THAT(outcome.failure->message, testing::HasSubstr("rank 0 sends float32[3] at"));
  EXPECT_THAT(outcome.failure->message, testing::HasSubstr("rank 1 receives float32[4] at"));
}

TEST(PointToPoint, PeersOutsideTheGroupAreRefused) {
  World world({.ranks = 2});
  Outcome outcome = world.run(
      [](Rank&) { send(zeros({1}, DType::float32), {.peer = 2}, ProcessGroup::world()); });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THROW(outcome.rethrow(), Error);
}

}  // namespace
}  // namespace simmesh
