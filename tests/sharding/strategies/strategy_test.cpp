#include "sharding/strategies/strategy.h"

#include "core/ops/call.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

const Op scale_rows = {
    .name = "my::scale_rows",
    .shape = [](auto inputs, const Attributes&) { return TensorTypes{inputs[0]}; },
    .kernel = [](auto inputs, const Attributes&,
                 auto outputs) { copy_(outputs[0], inputs[0] * inputs[1].unsqueeze(1)); },
    .strategy =
        strategy({rule({Shard(0), Shard(0)}, Shard(0)), rule({Shard(1), Replicate()}, Shard(1)),
                  rule({Partial(), Replicate()}, Partial())})};

// An op of one's own doesn't run on a mesh by the rules that it brings along.
SIMMESH_TEST(Strategy, OfAnOpOfOnesOwn, {.mesh = {2, 2}, .schedules = 20}) {
  Tensor x = formula({6, 4}, {.rule = Rule::small, .seed = 1});
  Tensor s = formula({6}, {.rule = Rule::small, .seed = 2});
  for (const Placements& placements :
       {Placements{Shard(0), Shard(1)}, Placements{Shard(1), Shard(0)},
        Placements{Replicate(), Shard(0)}, Placements{Shard(0), Shard(0)}}) {
    DTensor y = call_one(scale_rows, {distribute_tensor(x, mesh, placements),
                                      distribute_tensor(s, mesh, {Shard(0), Replicate()})});
    EXPECT_EQ(to_string(y.placements()), to_string(placements));
    EXPECT_SAME_BITS(y.full_tensor(), call_one(scale_rows, {x, s}));
  }
}

}  // namespace
}  // namespace simmesh
