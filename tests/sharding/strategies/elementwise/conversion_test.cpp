#include "core/ops/elementwise/conversion.h"

#include "core/ops/elementwise/pointwise.h"
#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

void expect_converted(DType from, DType to_dtype) {
  bool has_average = is_floating_point(from);
  Placements kinds =
      shards_and(1, {Partial(ReduceOp::sum), Partial(ReduceOp::max), Partial(ReduceOp::min)});
  if (has_average) kinds.push_back(Partial(ReduceOp::avg));
  if (from == DType::boolean) kinds = shards_and(1);
  Rule rule = from == DType::boolean ? Rule::boolean : Rule::small;
  expect_whole_bits(
      {.name = fmt::format("{} to {}", to_string(from), to_string(to_dtype)),
       .inputs = {{.shape = {5}, .alphabet = kinds, .data = {.rule = rule, .dtype = from}}},
       .function =
           [=](TensorSpan x) {
             Tensor given = is_floating_point(from) ? x[0] * 0.5 : x[0];
             return std::vector<Tensor>{to(given, to_dtype)};
           }},
      {.meshes = {{2}, {4}, {2, 2}}});
}

// Parts of sums lose their fractions, or are true or false by themselves.
TEST(ConversionStrategies, GiveWholeBits) {
  for (DType from : {DType::float32, DType::float64, DType::int64, DType::boolean})
    for (DType to : {DType::float64, DType::float32, DType::bfloat16, DType::int64, DType::int32,
                     DType::boolean})
      expect_converted(from, to);
}

// item returns a rank's part of the value.
TEST(ConversionStrategies, AnItemIsTheWholeValueOnEveryRank) {
  World world({.ranks = 4, .schedule = Schedule::parse("pct:2")});
  Outcome outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({2, 2});
    for (const Placements& list : small_worlds::lists(2, shards_and(1, {Partial(ReduceOp::sum)})))
      EXPECT_EQ(-7.0, item(distributed(full({1}, DType::float32, -7), mesh, list)).as<double>());
    for (const Placements& list : small_worlds::lists(2, {Replicate(), Partial(ReduceOp::max)}))
      EXPECT_EQ(6, item(distributed(full({}, DType::int64, 6), mesh, list)).as<std::int64_t>());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
