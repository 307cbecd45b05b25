#include "core/arithmetic/reductions/combine.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

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
  constexpr std::size_t count = 85, skipped = 3, rows_max = 19;
  std::vector<std::vector<float>> values;
  std::vector<const std::byte*> rows;
  for (std::size_t r = 0; r < rows_max; ++r) {
    std::vector<float> row;
    for (std::size_t i = 0; i < skipped + count; ++i)
      row.push_back(std::ldexp(1.0f + float((i * 7 + r * 5) % 11) / 3, int((i + 3 * r) % 24)));
    values.push_back(std::move(row));
    rows.push_back(reinterpret_cast<const std::byte*>(values.back().data()));
  }
  for (InstructionSet set : available_instruction_sets())
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max})
      for (std::size_t used = 0; used <= rows_max; ++used) {
        std::vector<float> expected(count, 0.1f), folded = expected;
        for (std::size_t r = 0; r < used; ++r)
          for (std::size_t i = 0; i < count; ++i)
            expected[i] = combined(op, expected[i], values[r][skipped + i]);
        fold_of(op, DType::float32, set)(reinterpret_cast<std::byte*>(folded.data()),
                                         {rows.data(), std::int64_t(used), skipped * sizeof(float)},
                                         count);
        EXPECT_EQ(folded, expected) << to_string(op) << " of " << used << " rows";
      }
}

// Returns the result of one operation, element by element.
template <class T>
T plain(ReduceOp op, T a, T b) {
  using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  switch (op) {
    case ReduceOp::sum: return std::is_same_v<T, bool> ? T(a || b) : T(Wide(a) + Wide(b));
    case ReduceOp::product: return std::is_same_v<T, bool> ? T(a && b) : T(Wide(a) * Wide(b));
    case ReduceOp::min: return (a < b || a != a) ? a : b;
    case ReduceOp::max: return (a > b || a != a) ? a : b;
    default: break;
  }
  if constexpr (std::is_integral_v<T>)
    return op == ReduceOp::band ? T(a & b) : op == ReduceOp::bor ? T(a | b) : T(a ^ b);
  return a;
}

// Every pair of values that could be special: zeros, ties, subnormals, infinities and NaN of both
// signs, quiet and signaling. More of them than any vector holds, and no multiple of it.
template <class T>
std::vector<T> special_values() {
  std::vector<T> values;
  if constexpr (std::is_floating_point_v<T> || is_16_bit<T>) {
    using Bits =
        std::conditional_t<sizeof(T) == 8, std::uint64_t,
                           std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
    using Limits = std::numeric_limits<T>;
    auto bits_of = [](T x) { return std::bit_cast<Bits>(x); };
    const Bits infinity = bits_of(Limits::infinity()), one = bits_of(T(1));
    for (Bits magnitude : {Bits(0),
                           Bits(1),
                           Bits(2),
                           Bits(3),
                           bits_of(Limits::min()),
                           Bits(bits_of(Limits::min()) - 1),
                           one,
                           Bits(one + 1),
                           Bits(one + 2),
                           Bits(one - 1),
                           bits_of(Limits::epsilon()),
                           bits_of(T(float(Limits::epsilon()) / 2)),
                           bits_of(T(1.5f)),
                           bits_of(T(3)),
                           bits_of(T(1000)),
                           Bits(infinity - 1),
                           Bits(infinity - 2),
                           infinity,
                           Bits(infinity + 1),
                           Bits(infinity + 5),
                           bits_of(Limits::quiet_NaN()),
                           Bits(bits_of(Limits::quiet_NaN()) + 3)})
      for (Bits sign : {Bits(0), Bits(Bits(1) << (8 * sizeof(T) - 1))})
        values.push_back(std::bit_cast<T>(Bits(magnitude | sign)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return {};
  } else {
    using Limits = std::numeric_limits<T>;
    values = {0,
              1,
              2,
              3,
              T(-1),
              T(-2),
              7,
              100,
              Limits::max(),
              Limits::min(),
              T(Limits::max() - 1),
              T(Limits::max() / 3)};
  }
  return values;
}

// The same bits; of two NaN that are added, the processor may pass on either.
template <class T>
bool alike(ReduceOp op, T a, T b, T got, T expected) {
  bool either = (op == ReduceOp::sum || op == ReduceOp::product) && a != a && b != b;
  using Bits = std::array<std::byte, sizeof(T)>;
  return either ? got != got : std::bit_cast<Bits>(got) == std::bit_cast<Bits>(expected);
}

template <class T>
void expect_plain(ReduceOp op) {
  std::vector<T> a, b, values = special_values<T>();
  for (T x : values)
    for (T y : values) a.push_back(x), b.push_back(y);
  auto bytes = [](auto& v) { return reinterpret_cast<std::byte*>(v.data()); };
  auto count = std::int64_t(a.size());
  for (InstructionSet set : available_instruction_sets()) {
    std::vector<T> out(a.size()), folded = a;
    combine_of(op, dtype_of<T>, set)(bytes(out), bytes(a), bytes(b), count);
    const std::byte* rows[] = {bytes(b)};
    fold_of(op, dtype_of<T>, set)(bytes(folded), {rows, 1, 0}, count);
    for (std::size_t i = 0; i < a.size(); ++i) {
      T expected = plain(op, a[i], b[i]);
      ASSERT_TRUE(alike(op, a[i], b[i], out[i], expected) &&
                  alike(op, a[i], b[i], folded[i], expected))
          << to_string(op) << " of " << to_string(dtype_of<T>) << " " << double(a[i]) << ", "
          << double(b[i]) << " at " << i << ": " << double(out[i]) << ", " << double(folded[i])
          << ", not " << double(expected) << " on " << to_string(set);
    }
  }
}

// If this fails, the result of a reduction depends on the processor.
TEST(Combine, EveryInstructionSetFollowsThePlainDefinition) {
  for (DType dtype : all_dtypes)
    for (ReduceOp op : all_reduce_ops) {
      bool is_bitwise = op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
      if (op == ReduceOp::avg || op == ReduceOp::premul_sum) continue;
      if (is_bitwise && is_floating_point(dtype)) continue;
      visit_dtype(dtype, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>) expect_plain<T>(op);
      });
    }
}

// If this fails, 16-bit numbers of some kind are rounded otherwise: all of them are tried.
TEST(Combine, EverySixteenBitNumberIsAddedAndScaledAlike) {
  auto try_all = []<class T>(T) {
    std::vector<T> x, y, out(65536);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      x.push_back(T::from_bits(std::uint16_t(bits)));
      y.push_back(T::from_bits(std::uint16_t(bits * 40503u)));
    }
    auto bytes = [](auto& v) { return reinterpret_cast<std::byte*>(v.data()); };
    for (InstructionSet set : available_instruction_sets()) {
      for (ReduceOp op : {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
        combine_of(op, dtype_of<T>, set)(bytes(out), bytes(x), bytes(y), 65536);
        for (std::size_t i = 0; i < out.size(); ++i)
          ASSERT_TRUE(alike(op, x[i], y[i], out[i], plain(op, x[i], y[i]))) << to_string(set) << i;
      }
      scale(bytes(out), bytes(x), 0.3, dtype_of<T>, 65536, set);
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i].bits(), (x[i] * rounded_to<T>(0.3)).bits()) << to_string(set) << i;
      out = x;
      divide(bytes(out), 3.0, dtype_of<T>, 65536, set);
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i].bits(), T(float(x[i]) / 3.0f).bits()) << to_string(set) << i;
    }
  };
  try_all(Half{});
  try_all(BFloat16{});
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
      expect_error([&] { check_reduction(op, dtype); }, ErrorKind::type_error);
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
