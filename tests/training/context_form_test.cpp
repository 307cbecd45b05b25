#include "training/context_form.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

// Rows are left alone, and the rank's positions are taken of each; the effects of the form before
// stay.
TEST(ContextForm, TakesPositionsOfRows) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2}, {"cp"});
    bool was_prepared = false;
    ParallelForm given{.part = 1, .parts = 3};
    given.prepare = [&](nn::Module&) { was_prepared = true; };
    ParallelForm form = with_context(given, {.order = SequenceOrder::contiguous}, mesh);
    EXPECT_EQ(form.part, 1);
    EXPECT_EQ(form.parts, 3);
    Tensor rows = formula({2, 5, 3}, {.rule = Rule::unit, .seed = 1});
    std::int64_t first = rank.id() == 0;
    rank.expect_same_bits(form.part_of_rows(rows).contiguous(),
                          rows.narrow({1, first ? 0 : 3, first ? 3 : 2}).contiguous());
    nn::Attention attention({.width = 4, .heads = 2});
    form.prepare(attention);
    EXPECT_TRUE(was_prepared);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
