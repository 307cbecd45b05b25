#include "sharding/validate/sized_claims.h"

#include <gtest/gtest.h>

#include "tests/sharding/validate/sample_call.h"

namespace simmesh {
namespace {

const InputCandidates product_inputs = {{Replicate(), Shard(0), Shard(1), Partial()},
                                        {Replicate(), Shard(0), Shard(1), Partial()}};

// If this fails, a strategy is asked again for each data, or rules of other sizes are judged.
TEST(SizedClaims, AsksOnceForEachSizes) {
  WholeCall call = testing::sample_call("mm", "ab bc");
  SizedClaims claims(ShortDims::left_out);
  SampleSizes four, other;
  other.set('a', 1);
  const StrategyRows& rows = claims.rules({2, four}, call, product_inputs);
  EXPECT_EQ(rows.size(), claimed_rules(call, product_inputs, 2).size());
  EXPECT_EQ(&claims.rules({2, four}, call, product_inputs), &rows);
  EXPECT_NE(&claims.rules({3, four}, call, product_inputs), &rows);
  EXPECT_NE(&claims.rules({2, other}, call, product_inputs), &rows);
}

// If this fails, a rule that doesn't hold along one mesh dim is combined with others.
TEST(SizedClaims, CombinesTheRulesThatHold) {
  WholeCall call = testing::sample_call("mm", "ab bc");
  SizedClaims claims(ShortDims::left_out);
  SizedClaims::Site site{2, SampleSizes()};
  Dims square = {2, 2};
  std::vector<bool> holds(claims.rules(site, call, product_inputs).size(), true);
  std::size_t all = claims.over_mesh(site, call, holds, square).size();
  EXPECT_EQ(claims.over_mesh(site, call, holds, square).size(), all);
  holds[0] = false;
  EXPECT_LT(claims.over_mesh(site, call, holds, square).size(), all);
  holds.assign(holds.size(), false);
  EXPECT_TRUE(claims.over_mesh(site, call, holds, square).empty());
}

}  // namespace
}  // namespace simmesh
