#include "core/ops/reductions/running_extremes.h"

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

TEST(RunningExtremeStrategies, ScansEqualOneDevice) {
  for (std::int64_t dim : {0, -1})
    expect_whole_bits(
        of_one("cummax", {{3, 4}, shards_and(2, {pending, greatest})}, [&](const Tensor& x) {
          ValuesAndIndices most = cummax(x, dim), fewest = cummin(x, dim);
          return Tensors{most.values, most.indices, fewest.values, fewest.indices};
        }));
}

}  // namespace
}  // namespace simmesh
