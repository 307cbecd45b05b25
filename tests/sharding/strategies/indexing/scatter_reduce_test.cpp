#include <gtest/gtest.h>

#include "core/ops/indexing/scattering.h"
#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

TEST(ScatterReduceStrategies, EveryReductionOfEverySplit) {
  for (const char* reduce : {"sum", "prod", "amax", "amin"})
    expect_whole_bits(
        {.name = reduce,
         .inputs = {{.shape = {4, 3}, .alphabet = shards_and(2, {Partial()})},
                    {.shape = {4, 2},
                     .alphabet = shards_and(2),
                     .data = {.rule = Rule::index, .below = 3, .dtype = DType::int64}},
                    {.shape = {4, 2}, .alphabet = shards_and(2, {Partial()})}},
         .function = [=](Given x) -> Tensors {
           return {scatter_reduce(x[0], 1, x[1], x[2], {.reduce = reduce})};
         },
         .has_gradient = false},
        {.meshes = {{2}, {3}}, .schedules = {"fifo"}});
}

}  // namespace
}  // namespace simmesh
