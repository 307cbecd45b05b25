#include "sharding/parallel/head_exchange.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

class HeadExchangeTest : public ::testing::TestWithParam<std::int64_t> {};

// Each rank gets its heads of all positions, in order, also where it gets none; gradients go back.
SIMMESH_TEST_P(HeadExchangeTest, CutsHeadsInsteadOfPositions,
               {.mesh = {GetParam()}, .schedules = 4}) {
  ProcessGroup group = process_group(mesh);
  for (std::int64_t units : {1, 3, 4})
    for (std::int64_t length : {0, 3, 9}) {
      SequenceSplit split{length, group.size(), SequenceOrder::head_tail};
      HeadExchange exchange({split, units}, group);
      Tensor whole = formula({2, 2 * units, length, 3}, {.rule = Rule::unit, .seed = 1});
      Tensor own = by_rank(whole, 2, split)[std::size_t(group.rank())].contiguous();
      Chunk heads = chunk_of({.size = units, .parts = group.size(), .index = group.rank()});
      Tensor part = whole.narrow({1, 2 * heads.start, 2 * heads.length}).contiguous();
      set_requires_grad(own);
      Tensor mine = exchange.to_heads(own);
      EXPECT_SAME_BITS(mine.detach(), part);
      EXPECT_SAME_BITS(exchange.to_sequence(part), own.detach());
      backward(mine, {.gradients = {part}});
      EXPECT_SAME_BITS(grad_of(own), own.detach());
    }
}

INSTANTIATE_TEST_SUITE_P(Worlds, HeadExchangeTest, ::testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace simmesh
