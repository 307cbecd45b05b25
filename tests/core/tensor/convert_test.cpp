#include "core/tensor/convert.h"

#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace simmesh {
namespace {

// Returns the conversion of one element.
template <class To, class From>
To plain(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (is_16_bit<From>) {
    return plain<To>(float(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    double wide = x;
    return To(wide >= -0x1p63 && wide < 0x1p63 ? std::int64_t(wide) : INT64_MIN);
  } else if constexpr (std::is_integral_v<From> && is_16_bit<To>) {
    // All integers that are tried fit into long double.
    auto exact = static_cast<long double>(x);
    auto wide = double(exact);
    // Rounded to odd, so that the second rounding sees what the first one drops.
    bool is_above = static_cast<long double>(wide) > exact;
    if (static_cast<long double>(wide) != exact && !(std::bit_cast<std::uint64_t>(wide) & 1))
      wide = std::bit_cast<double>(std::bit_cast<std::uint64_t>(wide) +
                                   (is_above == (wide > 0) ? std::uint64_t(-1) : 1));
    return rounded_to<To>(wide);
  } else if constexpr (is_16_bit<To>) {
    return rounded_to<To>(double(x));
  } else {
    return static_cast<To>(x);
  }
}

// Numbers around each value that a dtype can hold, ties between neighbours among them, and NaN.
template <class T>
std::vector<T> tried() {
  std::vector<T> values;
  if constexpr (std::is_same_v<T, bool>) {
    for (int i = 0; i < 75; ++i) values.push_back(i % 3 == 0);
  } else if constexpr (is_16_bit<T>) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits)
      values.push_back(T::from_bits(std::uint16_t(bits)));
  } else if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    constexpr int kept = std::numeric_limits<T>::digits - 1;
    for (std::uint32_t bits = 0; bits < 65536; ++bits)
      for (double value : {double(Half::from_bits(std::uint16_t(bits))),
                           double(BFloat16::from_bits(std::uint16_t(bits)))})
        for (int dropped : {8, 11, 13, 16}) {
          Bits tie = std::bit_cast<Bits>(T(value)) | Bits(1) << (kept - dropped);
          for (Bits at : {std::bit_cast<Bits>(T(value)), tie, Bits(tie + 1), Bits(tie - 1)})
            values.push_back(std::bit_cast<T>(at));
        }
  } else {
    for (int shift = 0; shift < int(8 * sizeof(T)); ++shift)
      for (std::int64_t high : {1, 3, 129, 257, 1025, 2049, 4097})
        for (std::int64_t low : {-2, -1, 0, 1, 2})
          for (std::int64_t sign : {-1, 1})
            values.push_back(T(std::uint64_t(sign) * ((std::uint64_t(high) << shift) + low)));
  }
  return values;
}

template <class From, class To>
void expect_plain() {
  std::vector<From> x = tried<From>();
  Tensor source = empty({std::int64_t(x.size())}, dtype_of<From>);
  auto in = source.mutable_values<From>();
  for (std::size_t i = 0; i < x.size(); ++i) in[i] = x[i];
  for (InstructionSet set : available_instruction_sets()) {
    Tensor result = converted(source, dtype_of<To>, set);
    auto out = result.values<To>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      To expected = plain<To>(in[i]);
      ASSERT_EQ(std::memcmp(static_cast<const void*>(&out[i]), static_cast<const void*>(&expected),
                            sizeof(To)),
                0)
          << to_string(dtype_of<From>) << " " << double(x[i]) << " to " << to_string(dtype_of<To>)
          << ": " << double(out[i]) << ", not " << double(expected) << " on " << to_string(set);
    }
  }
}

// If this fails, the result of a conversion depends on the processor, down to the bits of NaN.
TEST(Convert, EveryInstructionSetFollowsThePlainDefinition) {
  for (DType from : all_dtypes)
    for (DType to : all_dtypes)
      visit_dtype(from, [&]<class From>(From) {
        visit_dtype(to, [&]<class To>(To) {
          if constexpr (!std::is_same_v<From, To>) expect_plain<From, To>();
        });
      });
}

TEST(Convert, RoundsOnceToNearestEven) {
  // 1 + 2^-11 + 2^-40 is above the tie between 1 and 1 + 2^-10: through float32 it would be 1.
  Tensor x = tensor_of<double>({2}, {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11});
  auto halves = converted(x, DType::float16);
  EXPECT_EQ(float(halves.values<Half>()[0]), 1 + 0x1p-10f);
  EXPECT_EQ(float(halves.values<Half>()[1]), 1.0f);
  // 2^54 + 2^46 + 1 in bfloat16: the last one decides the tie.
  std::int64_t tie = (std::int64_t(1) << 54) + (std::int64_t(1) << 46);
  Tensor big = converted(tensor_of<std::int64_t>({2}, {tie, tie + 1}), DType::bfloat16);
  EXPECT_EQ(float(big.values<BFloat16>()[0]), 0x1p54f);
  EXPECT_EQ(float(big.values<BFloat16>()[1]), 0x1p54f + 0x1p47f);
}

TEST(Convert, CutsTowardsZeroToIntegersAndAsksForZeroToBool) {
  Tensor x = tensor_of<float>({4}, {-1.75f, 1.75f, 0.25f, -0.0f});
  Tensor integers = converted(x, DType::int32);
  EXPECT_TRUE(same_bits(integers, tensor_of<std::int32_t>({4}, {-1, 1, 0, 0})));
  Tensor truths = converted(x, DType::boolean);
  EXPECT_TRUE(same_bits(truths, tensor_of<bool>({4}, {true, true, true, false})));
  EXPECT_TRUE(same_bits(converted(tensor_of<std::int64_t>({1}, {259}), DType::uint8),
                        tensor_of<std::uint8_t>({1}, {3})));
}

TEST(Convert, ReadsStridesAndReturnsTheTensorItselfForItsOwnDtype) {
  Tensor x = tensor_of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_TRUE(same_bits(converted(x.transpose(0, 1), DType::float64),
                        tensor_of<double>({2, 2}, {1, 3, 2, 4})));
  EXPECT_EQ(converted(x, DType::float32).storage(), x.storage());
}

}  // namespace
}  // namespace simmesh
