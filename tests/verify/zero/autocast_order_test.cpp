#include "tests/verify/changed_case.h"

// Three ranks under torch_autocast: the bfloat16 gradients of a bucket are rounded after each of
// gloo's two additions, and gloo's ring adds each third of a bucket in another order. So the bits
// of a run are those of DeepSpeed only if each gradient has its place in the bucket.
namespace simmesh {
namespace {

// If this fails, gradients go into buckets in another order than DeepSpeed's: that of the optimizer
// in stage 1, that in which PyTorch's backward brings them in stages 2 and 3.
TEST(ZeroAutocastOrder, ThreeRanksHaveTheBitsOfGloosRing) {
  int count = 0;
  for (const auto& value :
       testing::recorded_values("../../verify/zero/autocast_three_ranks.jsonl")) {
    CaseReport report = testing::verify_value(value, {.arithmetic = "as_gloo_ring"});
    EXPECT_THAT(report.mismatches(), ::testing::IsEmpty()) << value["id"];
    ++count;
  }
  EXPECT_EQ(count, 6);
}

}  // namespace
}  // namespace simmesh
