#include "core/engine/reports/shortage.h"

#include <gtest/gtest.h>
#include <new>

#include "core/engine/world.h"
#include "core/memory/not_enough_memory.h"

namespace simmesh {
namespace {

// If this fails, a run that had no memory is taken for a wrong program, or another failure for a
// lack of memory.
TEST(Shortage, IsRaisedForRunsWithoutMemoryOnly) {
  World world({.ranks = 2});
  EXPECT_NO_THROW(raise_shortage(world.run([](Rank&) {})));
  EXPECT_NO_THROW(raise_shortage(world.run([](Rank&) { throw std::runtime_error("other"); })));
  EXPECT_NO_THROW(raise_shortage(world.run([](Rank&) { throw 1; })));
  Outcome outcome = world.run([](Rank& rank) {
    if (rank.id() == 1) throw NotEnoughMemory(100);
  });
  EXPECT_THROW(raise_shortage(outcome), std::bad_alloc);
}

}  // namespace
}  // namespace simmesh
