#include "verify/collective_tally.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/engine/world.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

// If this fails, a case passes although more or other collectives were issued than recorded.
TEST(CollectiveTally, CountsWhatARankIssuedSince) {
  World({.ranks = 2})
      .run([](Rank& rank) {
        ProcessGroup all = ProcessGroup::world();
        Tensor x = formula({2, 2}, {});
        all_reduce(x, ReduceOp::sum, all);
        auto before = rank.counters();
        all_gather(x, {.dim = 0}, all);
        all_gather(x, {.dim = 1}, all);
        broadcast(x, 0, all);
        EXPECT_EQ(tally_since(before, rank), (CollectiveTally{{"all_gather", 2}}));
        EXPECT_EQ(tally_since(before, rank, call_collectives),
                  (CollectiveTally{{"all_gather", 2}, {"broadcast", 1}}));
      })
      .rethrow();
}

TEST(CollectiveTally, CountsOfZeroAreLeftOut) {
  RecordedCase recorded =
      RecordedCase::parse(R"({"kind":"k","id":"i","comm":{"all_reduce":2,"all_gather":0}})", {});
  EXPECT_EQ(read_tally(recorded["comm"]), (CollectiveTally{{"all_reduce", 2}}));
  EXPECT_EQ(without_zeros({{"all_to_all", 0}}), CollectiveTally());
}

}  // namespace
}  // namespace simmesh
