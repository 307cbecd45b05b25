#include "core/ops/indexing/rearranging.h"

#include <gtest/gtest.h>

#include "testing/gtest.h"
#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

void expect_moved(const char* name, const std::function<Tensor(const Tensor&)>& function,
                  const Shape& shape = {4, 3}) {
  expect_whole_bits(
      {.name = name,
       .inputs = {{.shape = shape,
                   .alphabet = shards_and(std::int64_t(shape.size()),
                                          {Partial(), Partial(ReduceOp::avg),
                                           Partial(ReduceOp::max), StridedShard(0, 2)})}},
       .function = [&](Given x) -> Tensors { return {function(x[0])}; }});
}

TEST(RearrangingStrategies, FlipAndRoll) {
  expect_moved("flip", [](const Tensor& x) { return flip(x, {-1}); });
  expect_moved("flip of nothing", [](const Tensor& x) { return flip(x, {}); });
  expect_moved("roll", [](const Tensor& x) { return roll(x, {2, -1}, {0, -1}); });
  expect_moved("roll of one dim", [](const Tensor& x) { return roll(x, {1}, {-1}); });
  expect_moved("roll without dims", [](const Tensor& x) { return roll(x, {1}); }, {5, 3});
}

// Every rank would add the value to a partial sum.
TEST(RearrangingStrategies, Pad) {
  expect_moved("pad", [](const Tensor& x) { return pad(x, {1, 2}); });
  expect_moved("pad with a value", [](const Tensor& x) {
    return pad(x, {0, 1}, PadMode::constant, 7);
  });
  expect_moved("pad with the border", [](const Tensor& x) {
    return pad(x, {1, 1}, PadMode::replicate);
  });
  expect_moved("pad with the mirrored border", [](const Tensor& x) {
    return pad(x, {2, 1}, PadMode::reflect);
  });
}

TEST(RearrangingStrategies, RepeatAndTriangles) {
  expect_moved("repeat", [](const Tensor& x) { return repeat(x, {2, 1, 3}); });
  expect_moved("repeat in front", [](const Tensor& x) { return repeat(x, {2, 1, 1}); });
  expect_moved("repeat_interleave", [](const Tensor& x) { return repeat_interleave(x, 2, 0); },
               {12, 3});
  Tensor counts = tensor_of<std::int64_t>({3}, {2, 0, 1}), twice = tensor_of<std::int64_t>({}, {2});
  for (std::int64_t dim : {-1, 1})
    expect_moved("repeat_interleave by counts",
                 [&](const Tensor& x) { return repeat_interleave(x, counts, dim); });
  expect_moved("repeat_interleave by one count",
               [&](const Tensor& x) { return repeat_interleave(x, twice, 0); });
  expect_moved("tril", [](const Tensor& x) { return tril(x); });
  expect_moved("triu", [](const Tensor& x) { return triu(x, -1); });
}

// The counts may be distributed as well: each rank needs all of them for the result's shape.
SIMMESH_TEST(RearrangingStrategies, CountsMayBeDistributed, {.mesh = {2}, .schedules = 4}) {
  Tensor values = formula({3, 2}, {.rule = Rule::small, .seed = 1});
  Tensor counts = tensor_of<std::int64_t>({3}, {1, 3, 2});
  for (const Placement& placement : {Placement(Shard(0)), Placement(Replicate()), partial_sum}) {
    Tensor x = distributed(values, mesh, {Shard(0)}),
           repeats = distributed(counts, mesh, {placement});
    Tensor came = repeat_interleave(x, repeats, 0);
    EXPECT_SAME_BITS(DTensor::of(came).full_tensor(), repeat_interleave(values, counts, 0));
    EXPECT_SAME_BITS(repeat_interleave(values, repeats, 0), repeat_interleave(values, counts, 0));
  }
}

}  // namespace
}  // namespace simmesh
