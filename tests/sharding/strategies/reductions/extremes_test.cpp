#include "core/ops/reductions/extremes.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Placements extremes_alphabet = shards_and(2, {partial_sum, partial_max, partial_min});

// A piece without elements must contribute nothing: to a maximum below all, to a minimum above.
TEST(ExtremeStrategies, ExtremesEqualOneDevice) {
  for (const Shape& shape : {Shape{3, 4}, Shape{1, 2}})
    for (bool keepdim : {false, true}) {
      expect_whole_bits(of_one("amax", {shape, extremes_alphabet}, [&](const Tensor& x) {
        return Outputs{amax(x, 0, keepdim), amin(x, -1, keepdim), amin(x), amax(x)};
      }));
      expect_whole_bits(of_one("amin", {shape, extremes_alphabet}, [&](const Tensor& x) {
        return Outputs{amin(x, 0, keepdim), min(x), max(x)};
      }));
    }
}

TEST(ExtremeStrategies, BothExtremesEqualOneDevice) {
  for (const Shape& shape : {Shape{3, 4}, Shape{5, 2}})
    expect_whole_bits(of_one("aminmax", {shape, extremes_alphabet}, [&](const Tensor& x) {
      SmallestAndLargest of_all = aminmax(x), of_rows = aminmax(x, -1, true),
                         of_columns = aminmax(x, 0);
      return Outputs{of_all.min,  of_all.max,     of_rows.min,
                     of_rows.max, of_columns.min, of_columns.max};
    }));
}

TEST(ExtremeStrategies, ExtremesOfIntegersEqualOneDevice) {
  for (DType dtype : {DType::int64, DType::int32, DType::uint8, DType::boolean}) {
    Formula data = {.rule = dtype == DType::boolean ? Rule::boolean : Rule::small, .dtype = dtype};
    expect_whole_bits(of_one("amax", {{2, 3}, shards_and(2), data},
                             [](const Tensor& x) {
                               return Outputs{amax(x, 0), amin(x, 1), amax(x)};
                             }),
                      {.meshes = {{3}, {4}, {2, 2}}, .schedules = {"fifo"}});
  }
}

// Which element wins is known where all of them are.
TEST(ExtremeStrategies, IndicesEqualOneDevice) {
  expect_whole_bits(of_one(
      "argmax", {{3, 4}, extremes_alphabet},
      [](const Tensor& x) {
        return Outputs{argmax(x, 0), argmin(x, -1, true), argmax(x), argmin(x)};
      },
      false));
  expect_whole_bits(of_one("max.dim", {{3, 4}, extremes_alphabet}, [](const Tensor& x) {
    ValuesAndIndices most = max(x, 1, false), fewest = min(x, -2, true);
    return Outputs{most.values, most.indices, fewest.values, fewest.indices};
  }));
}

}  // namespace
}  // namespace simmesh
