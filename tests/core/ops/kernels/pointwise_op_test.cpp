#include "core/ops/kernels/pointwise_op.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/tensor.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// a + alpha * b, with whole numbers up to 2^40 exact in no type but double and int64.
Op added(PointwiseResult result = PointwiseResult::common, PointwiseCheck check = {}) {
  return pointwise_op(
      {.name = "added",
       .slots = {{attribute::self}, {attribute::other}, {attribute::alpha, false, 1}},
       .result = result,
       .loops = loops<3>([](auto a, auto b, auto alpha) { return plus(a, times(alpha, b)); }),
       .check = std::move(check)});
}

// If this fails, an elementwise op pairs other elements, or forgets a number among its arguments.
TEST(PointwiseOp, BroadcastsTensorsAndNumbers) {
  Tensor column = tensor_of<float>({2, 1}, {1, 2}), row = tensor_of<float>({3}, {10, 20, 30});
  EXPECT_EQ(to_string(call_one(added(), {column, row})), "float32[2, 3] {11, 21, 31, 12, 22, 32}");
  EXPECT_EQ(to_string(call_one(added(), {column, expand(row, {2, 3})}, {attribute::alpha = 2.0})),
            "float32[2, 3] {21, 41, 61, 22, 42, 62}");
  EXPECT_EQ(to_string(call_one(added(), {column}, {attribute::other = 0.5})),
            "float32[2, 1] {1.5, 2.5}");
}

// If this fails, whole numbers lose digits on the way through a floating type, or overflow is
// undefined.
TEST(PointwiseOp, ComputesInTheTypeOfItsOperands) {
  EXPECT_EQ(compute_type_of(DType::bfloat16), ComputeType::float32);
  EXPECT_EQ(compute_type_of(DType::float64), ComputeType::float64);
  EXPECT_EQ(compute_type_of(DType::boolean), ComputeType::int64);
  constexpr std::int64_t large = (std::int64_t(1) << 60) + 1;
  Tensor x = tensor_of<std::int64_t>({1}, {large});
  EXPECT_EQ(call_one(added(), {x, x}).values<std::int64_t>()[0], 2 * large);
  Tensor max = tensor_of<std::int64_t>({1}, {std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(call_one(added(), {max}, {attribute::other = 1}).values<std::int64_t>()[0],
            std::numeric_limits<std::int64_t>::min());
}

TEST(PointwiseOp, ResultsHaveTheDtypeThatTheOpSays) {
  Tensor x = tensor_of<std::int64_t>({1}, {2});
  EXPECT_EQ(to_string(call_one(added(PointwiseResult::floating), {x, x})), "float32[1] {4}");
  EXPECT_EQ(call_one(added(PointwiseResult::boolean), {x, x}).dtype(), DType::boolean);
}

// If this fails, an op computes on what PyTorch refuses.
TEST(PointwiseOp, AsksItsCheckWithTheCommonDtype) {
  Op floating_only = added(PointwiseResult::common, [](DType common, const Attributes&) {
    if (!is_floating_point(common))
      raise(ErrorKind::runtime_error, "added", "not implemented for {}", to_string(common));
  });
  Tensor whole = tensor_of<std::int64_t>({1}, {2}), half = tensor_of<float>({1}, {0.5f});
  EXPECT_EQ(to_string(call_one(floating_only, {whole, half})), "float32[1] {2.5}");
  testing::expect_error(
      [&] {
        call_one(floating_only, {whole, whole});
      },
      ErrorKind::runtime_error, "not implemented for int64");
}

}  // namespace
}  // namespace simmesh
