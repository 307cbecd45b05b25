#include "core/ops/reductions/sorting.h"

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

const Placements alphabet = shards_and(2, {pending, greatest});

TEST(SortingStrategies, SortsEqualOneDevice) {
  for (std::int64_t dim : {0, -1}) {
    expect_whole_bits(of_one("sort", {{3, 4}, alphabet}, [&](const Tensor& x) {
      Sorted sorted = sort(x, dim, dim == 0);
      return Tensors{sorted.values, sorted.indices, argsort(x, dim)};
    }));
    expect_whole_bits(of_one("topk", {{3, 4}, alphabet}, [&](const Tensor& x) {
      Sorted most = topk(x, {.k = 2, .dim = dim});
      return Tensors{most.values, most.indices};
    }));
    expect_whole_bits(of_one("kthvalue", {{3, 4}, alphabet}, [&](const Tensor& x) {
      return Tensors{kthvalue(x, {.k = 2, .dim = dim}).values};
    }));
  }
}

// Counts in bins add up where the limits are known beforehand.
TEST(SortingStrategies, HistogramsEqualOneDevice) {
  for (const Bins& bins : {Bins{.bins = 4, .low = -4, .high = 4}, Bins{.bins = 3}})
    expect_whole_bits(of_one(
        "histc", {{3, 4}, alphabet}, [&](const Tensor& x) { return Tensors{histc(x, bins)}; },
        false));
}

// Boundaries count what comes before a value, piece by piece.
TEST(SortingStrategies, SearchesEqualOneDevice) {
  expect_whole_bits(
      {"bucketize",
       {{{3, 4}, shards_and(2, {greatest, least})}, {{5}, shards_and(1)}},
       [](gsl::span<const Tensor> x) { return Tensors{bucketize(x[0], sort(x[1]).values)}; },
       false});
  expect_whole_bits({"searchsorted in rows",
                     {{{3, 5}, shards_and(2)}, {{3, 2}, shards_and(2, {pending})}},
                     [](gsl::span<const Tensor> x) {
                       return Tensors{searchsorted(sort(x[0]).values, x[1], {.right = true})};
                     },
                     false});
}

}  // namespace
}  // namespace simmesh
