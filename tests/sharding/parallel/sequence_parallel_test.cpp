#include "sharding/parallel/sequence_parallel.h"

#include <gmock/gmock.h>

#include "core/engine/world.h"
#include "core/nn/normalization.h"
#include "core/ops/reductions/sums.h"
#include "sharding/parallel/parallelize.h"
#include "tests/sharding/parallel/tensor_parallel.h"

namespace simmesh {
namespace {

using namespace tensor_parallel;

// The gradients of parameters that every rank has are those of its own part of the sequence.
SIMMESH_TEST(SequenceParallel, GradientsAreSumsOverTheSequence,
             {.mesh = {3}, .schedules = 20, .arithmetic = Arithmetic::exact()}) {
  nn::LayerNorm spread({.width = 4}), single({.width = 4});
  fill(spread);
  fill(single);
  parallelize(spread, mesh, SequenceParallel());
  Tensor input = numbers({2, 6, 4}, 1), upstream = numbers({2, 6, 4}, 2);
  Tensor expected = single(input);
  DTensor y = spread(distribute_tensor(input, mesh, {Replicate()}).as_tensor());
  EXPECT_EQ(to_string(y.placements()), "S(1)");
  EXPECT_SAME_BITS(y.full_tensor(), expected.detach());
  backward(y.as_tensor(), {.gradients = {distribute_tensor(upstream, mesh, {Shard(1)})}});
  backward(expected, {.gradients = {upstream}});
  for (const char* name : {"weight", "bias"})
    EXPECT_SAME_BITS(whole(grad_of(spread.parameter(name))), grad_of(single.parameter(name)));
}

// A rank whose part of the sequence is shorter takes the whole for another one than the others do,
// and a later gather fails where nobody knows why.
TEST(SequenceParallel, RefusesUnequalPlainPieces) {
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"}) {
    World world({.ranks = 2, .schedule = Schedule::parse(schedule)});
    Outcome outcome = world.run([](Rank& rank) {
      DeviceMesh mesh = init_device_mesh({2}, {"tp"});
      nn::LayerNorm norm({.width = 4});
      parallelize(norm, mesh, SequenceParallel());
      norm(numbers({2, 3, 4}, 1));
      norm(numbers({2, rank.id() == 0 ? 4 : 3, 4}, 1));
    });
    ASSERT_FALSE(outcome.ok());
    std::int64_t last = outcome.failure->rank, own = last == 0 ? 4 : 3;
    EXPECT_THAT(
        outcome.failure->message,
        ::testing::HasSubstr(fmt::format(
            "[sharding/parallelize] rank {}: a module takes plain pieces for equal shards "
            "S(1) on all 2 ranks; expected the shape [2, {}, 4] as on rank {}, got [2, {}, 4]",
            last, 7 - own, 1 - last, own)));
  }
}

}  // namespace
}  // namespace simmesh
