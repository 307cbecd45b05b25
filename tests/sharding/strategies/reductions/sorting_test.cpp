#include "core/ops/reductions/sorting.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Placements sorting_alphabet = shards_and(2, {partial_sum, partial_max});

TEST(SortingStrategies, SortsEqualOneDevice) {
  for (std::int64_t dim : {0, -1}) {
    expect_whole_bits(of_one("sort", {{3, 4}, sorting_alphabet}, [&](const Tensor& x) {
      Sorted sorted = sort(x, dim, dim == 0);
      return Outputs{sorted.values, sorted.indices, argsort(x, dim)};
    }));
    expect_whole_bits(of_one("topk", {{3, 4}, sorting_alphabet}, [&](const Tensor& x) {
      Sorted most = topk(x, {.k = 2, .dim = dim});
      return Outputs{most.values, most.indices};
    }));
    expect_whole_bits(of_one("kthvalue", {{3, 4}, sorting_alphabet}, [&](const Tensor& x) {
      return Outputs{kthvalue(x, {.k = 2, .dim = dim}).values};
    }));
  }
}

// Counts in bins add up where the limits are known beforehand.
TEST(SortingStrategies, HistogramsEqualOneDevice) {
  for (const Bins& bins : {Bins{.bins = 4, .low = -4, .high = 4}, Bins{.bins = 3}})
    expect_whole_bits(of_one(
        "histc", {{3, 4}, sorting_alphabet},
        [&](const Tensor& x) { return Outputs{histc(x, bins)}; }, false));
}

// Boundaries count the elements before a value, piece by piece.
TEST(SortingStrategies, SearchesEqualOneDevice) {
  expect_whole_bits(
      {"bucketize",
       {{{3, 4}, shards_and(2, {partial_max, partial_min})}, {{5}, shards_and(1)}},
       [](gsl::span<const Tensor> x) { return Outputs{bucketize(x[0], sort(x[1]).values)}; },
       false});
  expect_whole_bits({"searchsorted in rows",
                     {{{3, 5}, shards_and(2)}, {{3, 2}, shards_and(2, {partial_sum})}},
                     [](gsl::span<const Tensor> x) {
                       return Outputs{searchsorted(sort(x[0]).values, x[1], {.right = true})};
                     },
                     false});
}

}  // namespace
}  // namespace simmesh
