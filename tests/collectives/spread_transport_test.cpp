#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/engine/world.h"
#include "core/tensor/formula.h"
#include "tests/core/engine/spread/run_spread.h"

namespace simmesh {
namespace {

using Body = std::function<void(Rank&)>;

Tensor values_of(const Rank& rank, DimSpan shape) {
  return formula(shape, {.rule = Rule::unit, .seed = rank.id() + 1, .dtype = DType::float32});
}

// Runs a body in one process and in several, and expects the same hashes and bytes.
void expect_same(const Body& body, WorldOptions options = {.ranks = 4}) {
  std::string expected = both_hashes(World(options).run(body));
  for (int count : {1, 2, 3, 4})
    EXPECT_EQ(run_spread(count, [&](Spread&) { return both_hashes(World(options).run(body)); }),
              expected)
        << count << " processes";
}

// A sum of operands of several processes would have another order or other operands.
TEST(SpreadTransport, AllReduceHasTheBitsOfOneProcess) {
  for (std::int64_t count : {0, 1, 3, 5, 20'000})
    expect_same([=](Rank& rank) {
      Tensor sum = all_reduce(values_of(rank, DimSpan({count})), ReduceOp::sum, ProcessGroup::world());
      rank.record(sum);
    });
}

}  // namespace
}  // namespace simmesh
