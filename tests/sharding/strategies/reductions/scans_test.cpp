#include "core/ops/reductions/scans.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

#include "core/ops/reductions/logcumsumexp.h"
#include "core/ops/reductions/running_extremes.h"

const Placement pending = Partial(ReduceOp::sum), average = Partial(ReduceOp::avg);
const Placement greatest = Partial(ReduceOp::max), least = Partial(ReduceOp::min);

using Tensors = std::vector<Tensor>;
using One = std::function<Tensors(const Tensor&)>;
Call of_one(const char* name, const Input& x, const One& function, bool has_gradient = true) {
  return {
      name, {x}, [function](gsl::span<const Tensor> in) { return function(in[0]); }, has_gradient};
}

const Placements alphabet = shards_and(2, {pending, average, greatest});

// A scan of a piece alone would start anew, also where the dim is counted from the end.
TEST(ScanStrategies, ScansEqualOneDevice) {
  for (std::int64_t dim : {0, -1}) {
    expect_whole_bits(of_one("cumsum", {{3, 4}, alphabet},
                             [&](const Tensor& x) { return Tensors{cumsum(x, dim)}; }));
    expect_whole_bits(of_one("cumprod", {{3, 2}, alphabet},
                             [&](const Tensor& x) { return Tensors{cumprod(x, dim)}; }));
  }
}

}  // namespace
}  // namespace simmesh
