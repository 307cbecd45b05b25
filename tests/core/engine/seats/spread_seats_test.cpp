#include "core/engine/seats/spread_seats.h"

#include <gtest/gtest.h>
#include <type_traits>

#include "core/engine/world.h"
#include "core/memory/data_mode.h"
#include "tests/core/engine/spread/run_spread.h"

namespace simmesh {
namespace {

static_assert(std::is_base_of_v<FiberSeats, SpreadSeats>);

// A rank that goes on within a scope of its own mode would get that of the rank before it.
TEST(SpreadSeats, EachRankGoesOnInItsMode) {
  EXPECT_EQ(run_spread(2,
                       [](WorldSpread&) {
                         int wrong = 0;
                         World({.ranks = 3}).run([&](Rank& rank) {
                           bool other = !DataMode::shapes_only();
                           DataModeScope scope(other);
                           for (int i = 0; i < 4; ++i) {
                             rank.yield();
                             wrong += DataMode::shapes_only() != other;
                           }
                         });
                         return std::to_string(wrong);
                       }),
            "0");
}

}  // namespace
}  // namespace simmesh
