#include "core/ops/reductions/sums.h"

#include <limits>

#include "core/ops/call.h"
#include "core/ops/kernels/reduction_call.h"
#include "core/ops/registry/registry.h"
#include "sharding/strategies/strategy.h"
#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Input summed_matrix = {{3, 4}, shards_and(2, {partial_sum, partial_average, partial_max})};

// Pieces may be empty, and a mean over pieces of unlike sizes isn't the mean of their means.
TEST(SumStrategies, SumsEqualOneDevice) {
  for (const DimList& dims : {DimList(), DimList(0), DimList(-1)})
    for (bool keepdim : {false, true}) {
      expect_whole_bits(of_one("sum", summed_matrix,
                               [&](const Tensor& x) { return Outputs{sum(x, dims, keepdim)}; }));
      expect_whole_bits(of_one("mean", {{4, 2}, summed_matrix.alphabet},
                               [&](const Tensor& x) { return Outputs{mean(x, dims, keepdim)}; }),
                        {.meshes = {{2}, {2, 2}}});
      expect_whole_bits(of_one("count_nonzero", summed_matrix,
                               [&](const Tensor& x) { return Outputs{count_nonzero(x, dims)}; }));
    }
  expect_whole_bits(of_one("sum of short dims", {{1, 2}, shards_and(2, {partial_sum})},
                           [](const Tensor& x) { return Outputs{sum(x, 0)}; }));
}

// An average of integers is rounded when it is complete, and truth values add up to their
// disjunction, so neither is summed in parts.
TEST(SumStrategies, IntegersEqualOneDevice) {
  for (DType dtype : {DType::int32, DType::int64}) {
    Formula data = {.rule = Rule::small, .dtype = dtype};
    expect_whole_bits(of_one("sum", {{3, 4}, shards_and(2, {partial_sum, partial_max}), data},
                             [](const Tensor& x) { return Outputs{sum(x, 1)}; }));
  }
  Formula truth = {.rule = Rule::boolean, .dtype = DType::boolean};
  expect_whole_bits(of_one("any and all", {{3, 4}, shards_and(2), truth}, [](const Tensor& x) {
    return Outputs{any(x, 1), all(x, 0, true), any(x), sum(x, 0)};
  }));
}

TEST(SumStrategies, ProductsEqualOneDevice) {
  Placements alphabet = shards_and(2, {Partial(ReduceOp::product), partial_min});
  expect_whole_bits(of_one("prod", {{2, 3}, alphabet}, [](const Tensor& x) {
    return Outputs{prod(x, 1), prod(x)};
  }));
}

TEST(SumStrategies, SkipsWhatIsNoNumber) {
  expect_whole_bits(
      of_one("nansum", summed_matrix, [](const Tensor& x) { return Outputs{nansum(x, 1)}; }));
}

// A part of a partial sum that is NaN is one in the whole, where the other parts count for nothing.
TEST(SumStrategies, SkipsWhatIsNoNumberInAPart) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank&) {
    DeviceMesh mesh = init_device_mesh({2}, {"a"});
    float nan = std::numeric_limits<float>::quiet_NaN();
    Tensor whole = tensor_of<float>({2, 3}, {7, nan, 2, nan, nan, 9});
    Tensor x = distributed(whole, mesh, {partial_sum});
    EXPECT_TRUE(same_bits(DTensor::of(nansum(x, 1)).full_tensor(), nansum(whole, 1)));
    Attributes attributes = reduction_attributes(1, false);
    attributes.set(attribute::passes_partial = true);
    Tensor parts = call_one(*find_op("nansum"), {x}, attributes);
    EXPECT_EQ(to_string(DTensor::of(parts).placements()), "P(sum)");
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
