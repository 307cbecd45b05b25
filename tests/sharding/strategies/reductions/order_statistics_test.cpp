#include "core/ops/reductions/order_statistics.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// An element's rank is known where all elements are.
TEST(OrderStatisticsStrategies, MediansEqualOneDevice) {
  Placements alphabet = shards_and(2, {partial_sum, partial_max});
  expect_whole_bits(of_one("median", {{3, 4}, alphabet}, [](const Tensor& x) {
    return Outputs{median(x), nanmedian(x)};
  }));
  expect_whole_bits(of_one("median along a dim", {{3, 4}, alphabet}, [](const Tensor& x) {
    return Outputs{median(x, -1).values, median(x, 0).indices, nanmedian(x, 1, true).values};
  }));
}

TEST(OrderStatisticsStrategies, ModesEqualOneDevice) {
  expect_whole_bits(of_one("mode", {{3, 4}, shards_and(2, {partial_sum})}, [](const Tensor& x) {
    return Outputs{mode(x).values, mode(x, 0).indices, mode(x, 1, true).values};
  }));
}

TEST(OrderStatisticsStrategies, QuantilesEqualOneDevice) {
  expect_whole_bits(of_one("quantile", {{3, 4}, shards_and(2)}, [](const Tensor& x) {
    return Outputs{quantile(x, {.q = 0.5, .dim = 1}), quantile(x, {.q = 0.25, .dim = 0})};
  }));
}

}  // namespace
}  // namespace simmesh
