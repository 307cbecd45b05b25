#include "core/ops/reductions/sums.h"

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

const Input matrix = {{3, 4}, shards_and(2, {pending, average, greatest})};

// Pieces may be empty, and a mean over pieces of unlike sizes isn't the mean of their means.
TEST(SumStrategies, SumsEqualOneDevice) {
  for (const DimList& dims : {DimList(), DimList(0), DimList(-1)})
    for (bool keepdim : {false, true}) {
      expect_whole_bits(
          of_one("sum", matrix, [&](const Tensor& x) { return Tensors{sum(x, dims, keepdim)}; }));
      expect_whole_bits(of_one("mean", {{6, 2}, matrix.alphabet},
                               [&](const Tensor& x) { return Tensors{mean(x, dims, keepdim)}; }),
                        {.meshes = {{2}, {2, 2}}});
      expect_whole_bits(of_one("count_nonzero", matrix,
                               [&](const Tensor& x) { return Tensors{count_nonzero(x, dims)}; }));
    }
  expect_whole_bits(of_one("sum of short dims", {{1, 2}, shards_and(2, {pending})},
                           [](const Tensor& x) { return Tensors{sum(x, 0)}; }));
}

// An average of integers is rounded when it is complete, and truth values add up to their
// disjunction, so neither is summed in parts.
TEST(SumStrategies, IntegersEqualOneDevice) {
  for (DType dtype : {DType::int32, DType::int64}) {
    Formula data = {.rule = Rule::small, .dtype = dtype};
    expect_whole_bits(of_one("sum", {{3, 4}, shards_and(2, {pending, greatest}), data},
                             [](const Tensor& x) { return Tensors{sum(x, 1)}; }));
  }
  Formula truth = {.rule = Rule::boolean, .dtype = DType::boolean};
  expect_whole_bits(of_one("any and all", {{3, 4}, shards_and(2), truth}, [](const Tensor& x) {
    return Tensors{any(x, 1), all(x, 0, true), any(x), sum(x, 0)};
  }));
}

TEST(SumStrategies, ProductsEqualOneDevice) {
  Placements alphabet = shards_and(2, {Partial(ReduceOp::product), least});
  expect_whole_bits(of_one("prod", {{2, 3}, alphabet}, [](const Tensor& x) {
    return Tensors{prod(x, 1), prod(x)};
  }));
}

TEST(SumStrategies, SkipsWhatIsNoNumber) {
  expect_whole_bits(
      of_one("nansum", matrix, [](const Tensor& x) { return Tensors{nansum(x, 1)}; }));
}

}  // namespace
}  // namespace simmesh
