#include "checkpoint/read/made_once.h"

#include <gmock/gmock.h>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

// Ranks with equal texts share the value of the first of them, as long as one of them has it.
TEST(MadeOnce, SharesWhatIsMadeOfOneText) {
  simmesh::testing::run_mesh_test({.mesh = {4}, .schedules = 8}, [](const DeviceMesh&) {
    ProcessGroup world = ProcessGroup::world();
    struct Times {
      int made = 0;
    };
    int& times = this_rank().run().state<Times>().made;
    auto length = [&](const std::string& text) {
      return made_once<std::size_t>(text, [&] {
        ++times;
        return text.size();
      });
    };
    for (int round = 1; round <= 2; ++round) {
      auto shared = length("all");
      auto own = length(std::string(std::size_t(world.rank()) + 1, 'x'));
      EXPECT_EQ(*shared, 3u);
      EXPECT_EQ(*own, std::size_t(world.rank()) + 1);
      barrier(world);
      EXPECT_EQ(times, 5 * round) << "one for all and one for each rank";
      shared.reset();
      own.reset();
      barrier(world);
    }
  });
}

// After an error the next rank makes the value. Values of different types are not shared.
TEST(MadeOnce, RaisesOnEachRankWhatMakingRaises) {
  simmesh::testing::run_mesh_test({.mesh = {3}, .schedules = 4}, [](const DeviceMesh&) {
    auto refuse = []() -> int { raise(ErrorKind::value_error, "checkpoint", "no number"); };
    EXPECT_THAT(simmesh::testing::error_text([&] { made_once<int>("x", refuse); }),
                ::testing::HasSubstr("no number"));
    barrier(ProcessGroup::world());
    EXPECT_EQ(*made_once<int>("x", [] { return 7; }), 7);
    EXPECT_EQ(*made_once<std::string>("x", [] { return std::string("y"); }), "y");
  });
}

}  // namespace
}  // namespace simmesh::checkpoint
