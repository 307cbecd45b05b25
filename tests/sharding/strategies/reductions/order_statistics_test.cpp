#include "core/ops/reductions/order_statistics.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Placement pending = Partial(ReduceOp::sum), average = Partial(ReduceOp::avg);
const Placement greatest = Partial(ReduceOp::max), least = Partial(ReduceOp::min);

using Tensors = std::vector<Tensor>;
using One = std::function<Tensors(const Tensor&)>;
Call of_one(const char* name, const Input& x, const One& function, bool has_gradient = true) {
  return {
      name, {x}, [function](gsl::span<const Tensor> in) { return function(in[0]); }, has_gradient};
}

// An element's rank is known where all elements are.
TEST(OrderStatisticsStrategies, MediansEqualOneDevice) {
  Placements alphabet = shards_and(2, {pending, greatest});
  expect_whole_bits(of_one("median", {{3, 4}, alphabet}, [](const Tensor& x) {
    return Tensors{median(x), nanmedian(x)};
  }));
  expect_whole_bits(of_one("median along a dim", {{3, 4}, alphabet}, [](const Tensor& x) {
    return Tensors{median(x, -1).values, median(x, 0).indices, nanmedian(x, 1, true).values};
  }));
}

TEST(OrderStatisticsStrategies, QuantilesEqualOneDevice) {
  expect_whole_bits(of_one("quantile", {{3, 4}, shards_and(2)}, [](const Tensor& x) {
    return Tensors{quantile(x, {.q = 0.5, .dim = 1}), quantile(x, {.q = 0.25, .dim = 0})};
  }));
}

}  // namespace
}  // namespace simmesh
