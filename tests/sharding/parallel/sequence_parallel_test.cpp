#include "sharding/parallel/sequence_parallel.h"

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

}  // namespace
}  // namespace simmesh
