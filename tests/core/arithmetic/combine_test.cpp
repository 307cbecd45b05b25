#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include <simmesh/core/arithmetic/combine.h>
#include <simmesh/core/check/error.h>

namespace simmesh {
namespace {

template <class T>
T combined(ReduceOp op, T a, T b) {
  T out{};
  combine_of(op, dtype_of<T>)(reinterpret_cast<std::byte*>(&out),
                              reinterpret_cast<const std::byte*>(&a),
                              reinterpret_cast<const std::byte*>(&b), 1);
  return out;
}

// If this fails, overflowing integer sums saturate or trap instead of wrapping as in PyTorch.
TEST(Combine, IntegersWrap) {
  EXPECT_EQ(combined<std::int32_t>(ReduceOp::sum, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(combined<std::int64_t>(ReduceOp::sum, INT64_MIN, -1), INT64_MAX);
  EXPECT_EQ(combined<std::uint8_t>(ReduceOp::sum, 200, 100), 44);
  EXPECT_EQ(combined<std::int32_t>(ReduceOp::product, 1 << 30, 6), INT32_MIN);
  EXPECT_EQ(combined<std::int64_t>(ReduceOp::product, INT64_MAX, 2), -2);
  EXPECT_EQ(combined<std::uint8_t>(ReduceOp::product, 16, 17), 16);
}

// If this fails, a reduction of many operands has other bits than one of two at a time.
TEST(Combine, AFoldIsAsManyCombines) {
  constexpr std::size_t count = 21, skipped = 3, rows_max = 11;
  std::vector<std::vector<float>> values;
  std::vector<const std::byte*> rows;
  for (std::size_t r = 0; r < rows_max; ++r) {
    std::vector<float> row;
    for (std::size_t i = 0; i < skipped + count; ++i)
      row.push_back(std::ldexp(1.0f + float((i * 7 + r * 5) % 11) / 3, int((i + 3 * r) % 24)));
    values.push_back(std::move(row));
    rows.push_back(reinterpret_cast<const std::byte*>(values.back().data()));
  }
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max})
    for (std::size_t used = 0; used <= rows_max; ++used) {
      std::vector<float> expected(count, 0.1f), folded = expected;
      for (std::size_t r = 0; r < used; ++r)
        for (std::size_t i = 0; i < count; ++i)
          expected[i] = combined(op, expected[i], values[r][skipped + i]);
      fold_of(op, DType::float32)(reinterpret_cast<std::byte*>(folded.data()),
                                  gsl::span(rows).first(used), skipped * sizeof(float), count);
      EXPECT_EQ(folded, expected) << to_string(op) << " of " << used << " rows";
    }
}

// If this fails, reduced masks are wrong: a bool sum is OR, a bool product AND.
TEST(Combine, BoolTables) {
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      for (ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::bor})
        EXPECT_EQ(combined(op, a, b), a || b) << to_string(op);
      for (ReduceOp op : {ReduceOp::product, ReduceOp::min, ReduceOp::band})
        EXPECT_EQ(combined(op, a, b), a && b) << to_string(op);
      EXPECT_EQ(combined(ReduceOp::bxor, a, b), a != b);
    }
}

template <class T>
void expect_nan_passes() {
  T nan = rounded_to<T>(std::numeric_limits<double>::quiet_NaN());
  for (ReduceOp op : {ReduceOp::min, ReduceOp::max, ReduceOp::sum, ReduceOp::product})
    for (double x : {-HUGE_VAL, -1.0, 0.0, 1.0, HUGE_VAL}) {
      EXPECT_TRUE(std::isnan(double(combined(op, nan, rounded_to<T>(x))))) << to_string(op);
      EXPECT_TRUE(std::isnan(double(combined(op, rounded_to<T>(x), nan)))) << to_string(op);
    }
  EXPECT_EQ(double(combined(ReduceOp::min, T(1), T(-2))), -2);
  EXPECT_EQ(double(combined(ReduceOp::max, T(1), T(-2))), 1);
}

// If this fails, a NaN on one rank disappears in a min or max.
TEST(Combine, NaNPassesThroughMinAndMax) {
  expect_nan_passes<double>();
  expect_nan_passes<float>();
  expect_nan_passes<Half>();
  expect_nan_passes<BFloat16>();
}

// If this fails, 16-bit sums are kept in float32 between the operations, or rounded twice.
TEST(Combine, SixteenBitOperationsRoundOnce) {
  EXPECT_EQ(combined<Half>(ReduceOp::sum, Half(2048), Half(1)), Half(2048));
  EXPECT_EQ(combined<Half>(ReduceOp::sum, Half(2050), Half(1)), Half(2052));
  EXPECT_EQ(combined<BFloat16>(ReduceOp::sum, BFloat16(256), BFloat16(1)), BFloat16(256));
  EXPECT_EQ(combined<BFloat16>(ReduceOp::sum, BFloat16(258), BFloat16(1)), BFloat16(260));
  EXPECT_TRUE(std::isinf(float(combined<Half>(ReduceOp::sum, Half(65504), Half(16)))));
  EXPECT_EQ(combined<Half>(ReduceOp::sum, Half(65504), Half(8)), Half(65504));
}

// If this fails, an operation without a meaning for the dtype is computed somehow.
TEST(Combine, UndefinedPairsAreRefused) {
  for (ReduceOp op : all_reduce_ops)
    for (DType dtype : all_dtypes) {
      bool bitwise = op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
      bool scaled = op == ReduceOp::avg || op == ReduceOp::premul_sum;
      if (is_floating_point(dtype) ? !bitwise : !scaled) {
        EXPECT_NO_THROW(check_reduction(op, dtype)) << to_string(op) << to_string(dtype);
        EXPECT_NE(combine_of(op, dtype), nullptr);
        continue;
      }
      try {
        check_reduction(op, dtype);
        ADD_FAILURE() << to_string(op) << " of " << to_string(dtype);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::type_error);
      }
      EXPECT_THROW(combine_of(op, dtype), Error);
    }
}

// If this fails, an in-place fold reads elements it has overwritten.
TEST(Combine, OutMayBeAnOperand) {
  std::vector<std::int32_t> a{1, 2, 3, 4, 5}, b{10, 20, 30, 40, 50}, sum{11, 22, 33, 44, 55};
  auto bytes = [](std::vector<std::int32_t>& v) { return reinterpret_cast<std::byte*>(v.data()); };
  Combine add = combine_of(ReduceOp::sum, DType::int32);
  std::vector<std::int32_t> in_a = a, in_b = b;
  add(bytes(in_a), bytes(in_a), bytes(b), 5);
  add(bytes(in_b), bytes(a), bytes(in_b), 5);
  EXPECT_EQ(in_a, sum);
  EXPECT_EQ(in_b, sum);
}

// If this fails, averages or scaled sums round twice, or use an unrounded factor.
TEST(Combine, ScaleAndDivideRoundOnce) {
  Half halves[2] = {Half(10), Half(2047)};
  divide(reinterpret_cast<std::byte*>(halves), 3, DType::float16, 2);
  EXPECT_EQ(halves[0], rounded_to<Half>(10.0 / 3));
  EXPECT_EQ(halves[1], rounded_to<Half>(2047.0 / 3));
  float floats[2] = {10, 7}, out[2];
  scale(reinterpret_cast<std::byte*>(out), reinterpret_cast<std::byte*>(floats), 0.1,
        DType::float32, 2);
  EXPECT_EQ(out[0], rounded_to<float>(10.0 * double(0.1f)));
  EXPECT_EQ(out[1], rounded_to<float>(7.0 * double(0.1f)));
  std::int32_t whole = 4;
  EXPECT_THROW(divide(reinterpret_cast<std::byte*>(&whole), 2, DType::int32, 1), Error);
}

}  // namespace
}  // namespace simmesh
