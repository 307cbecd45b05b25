#include "collectives/object_board.h"

#include <gtest/gtest.h>

#include "core/check/check.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

// If this fails, ranks of a world of shapes get the object of another call or another group.
TEST(ObjectBoard, NumbersCallsByGroupAndMember) {
  ObjectBoard board;
  World world({.ranks = 2});
  world
      .run([&](Rank& rank) {
        ProcessGroup all = ProcessGroup::world();
        ProcessGroup named = ProcessGroup::of(all.members(), "named");
        EXPECT_EQ(board.next(all), 0u);
        EXPECT_EQ(board.next(named), 0u);
        EXPECT_EQ(board.next(all), 1u);
        if (rank.id() != 0) return;
        board.put(all, 1, "second");
        board.put(named, 0, "of the other group");
        EXPECT_EQ(board.get(all, 1), "second");
        EXPECT_EQ(board.get(named, 0), "of the other group");
        EXPECT_THROW(board.get(all, 0), ContractViolation);
      })
      .rethrow();
}

}  // namespace
}  // namespace simmesh
