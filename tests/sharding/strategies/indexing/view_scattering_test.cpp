#include "core/ops/indexing/view_scattering.h"

#include <gtest/gtest.h>

#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

TEST(ViewScatteringStrategies, EverySplit) {
  for (std::int64_t dim : {0, -1}) {
    expect_whole_bits(
        {.name = "select_scatter",
         .inputs = {values({4, 4, 2}), values({4, dim == 0 ? 2 : 4})},
         .function = [=](Given x) -> Tensors { return {select_scatter(x[0], x[1], dim, -1)}; }},
        {.meshes = {{2}, {3}}, .schedules = {"fifo"}});
    expect_whole_bits({.name = "slice_scatter",
                       .inputs = {values({4, 4}), values({dim == 0 ? 2 : 4, dim == 0 ? 4 : 2})},
                       .function = [=](Given x) -> Tensors {
                         return {slice_scatter(x[0], x[1], {.dim = dim, .start = 1, .end = 3})};
                       }},
                      {.schedules = {"fifo"}});
  }
}

}  // namespace
}  // namespace simmesh
