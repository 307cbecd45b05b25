#include "fsdp/param/gradient_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fsdp/fully_shard.h"
#include "fsdp/state/state.h"
#include "testing/gtest.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

using ::testing::ElementsAre;

// If this fails, a reduce-scatter gives a rank the gradient of another rank's rows.
SIMMESH_TEST(GradientRows, EachRanksPaddedShardIsInItsRow, {.mesh = {2}}) {
  nn::ModulePtr model =
      nn::build({"", "linear", {{"in", std::int64_t(2)}, {"out", std::int64_t(3)}}, {}});
  fully_shard(*model);
  const FSDPParam& weight = *FSDPState::of(*model)->groups()[0]->params()[0];
  ASSERT_EQ(weight.padded_numel(), 4);
  Tensor flat = zeros({2 * 6}, DType::float32);
  put_gradient_rows(flat, tensor_of<float>({3, 2}, {1, 2, 3, 4, 5, 6}), weight,
                    {.ranks = 2, .row = 6, .offset = 1});
  EXPECT_THAT(flat.values<float>(), ElementsAre(0, 1, 2, 3, 4, 0, 0, 5, 6, 0, 0, 0));
}

}  // namespace
}  // namespace simmesh::fsdp
