#include "sharding/parallel/equal_pieces.h"

#include <gtest/gtest.h>

#include "core/tensor/formula.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

SIMMESH_TEST(EqualPieces, EachCallIsComparedByItself, {.mesh = {3}}) {
  for (std::int64_t rows : {2, 5}) check_equal_pieces(formula({rows, 4}, {}), mesh, Shard(0));
}

// If this fails, a module takes uneven pieces for even ones, and the whole tensor has another shape
// on each rank.
TEST(EqualPieces, AnUnevenPieceIsRefusedOnceTheFirstIsKnown) {
  for (const char* schedule : {"fifo", "seeded:3"}) {
    World world({.ranks = 3, .schedule = Schedule::parse(schedule)});
    Outcome outcome = world.run([](Rank& rank) {
      DeviceMesh mesh = init_device_mesh({3});
      check_equal_pieces(formula({2, 4}, {}), mesh, Shard(0));
      check_equal_pieces(formula({rank.id() == 1 ? 1 : 2, 4}, {}), mesh, Shard(0));
    });
    ASSERT_FALSE(outcome.ok());
    EXPECT_NE(outcome.failure->message.find("for equal shards S(0) on all 3 ranks"),
              std::string::npos)
        << outcome.failure->message;
  }
}

}  // namespace
}  // namespace simmesh
