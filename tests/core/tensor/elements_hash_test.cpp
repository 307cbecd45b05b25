#include "core/tensor/elements_hash.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "core/engine/world.h"
#include "core/tensor/tensor.h"

namespace simmesh {
namespace {

gsl::span<const std::byte> bytes_of(const std::vector<std::uint64_t>& words) {
  return {reinterpret_cast<const std::byte*>(words.data()), 8 * words.size()};
}

// In each dtype a NaN with a sign and one with other bits than the usual ones, beside an infinity.
struct NaNs {
  DType dtype;
  std::uint64_t usual, negative, other, infinity;
};
constexpr NaNs all_nans[] = {{DType::float64, 0x7FF8000000000000, 0xFFF8000000000000,
                              0x7FF0000000000001, 0x7FF0000000000000},
                             {DType::float32, 0x3F8000007FC00000, 0x3F800000FFC00000,
                              0x3F8000007F800001, 0x3F8000007F800000},
                             {DType::bfloat16, 0x3F803F803F807FC0, 0x3F803F803F80FFC0,
                              0x3F803F803F807F81, 0x3F803F803F807F80},
                             {DType::float16, 0x3C003C003C007E00, 0x3C003C003C00FE00,
                              0x3C003C003C007C01, 0x3C003C003C007C00}};

// If this fails, equal runs on two processors have different data hashes.
TEST(ElementsHash, TakesEveryNaNForTheSameAndNothingElse) {
  for (const NaNs& nans : all_nans)
    for (std::size_t length : {1, 3, 511, 512, 513, 5000}) {
      for (std::size_t at : {std::size_t(0), length / 2, length - 1}) {
        std::vector<std::uint64_t> words(length, 0x3C003C003C003C00);
        auto hash_with = [&](std::uint64_t word) {
          words[at] = word;
          return elements_hash(bytes_of(words), nans.dtype);
        };
        std::uint64_t usual = hash_with(nans.usual);
        EXPECT_EQ(usual, bits_hash(bytes_of(words)));
        EXPECT_EQ(hash_with(nans.negative), usual);
        EXPECT_EQ(hash_with(nans.other), usual);
        EXPECT_NE(hash_with(nans.infinity), usual);
        EXPECT_EQ(hash_with(nans.infinity), bits_hash(bytes_of(words)));
      }
    }
}

TEST(ElementsHash, DoesNotDependOnHowElementsAreCut) {
  for (const NaNs& nans : all_nans) {
    std::vector<std::uint64_t> words(3000, nans.infinity);
    words[7] = nans.other;
    words[2999] = nans.negative;
    std::uint64_t whole = elements_hash(bytes_of(words), nans.dtype);
    for (std::size_t piece : {8, 808, 4096, 4104, 24000}) {
      ElementsHash hash(nans.dtype);
      auto left = bytes_of(words);
      while (!left.empty()) {
        std::size_t bytes = std::min<std::size_t>(piece, left.size());
        hash.update(left.first(bytes));
        left = left.subspan(bytes);
      }
      EXPECT_EQ(hash.value(), whole) << piece;
    }
  }
}

// Bits of integers that would be NaN elsewhere count as they are.
TEST(ElementsHash, LeavesIntegersAlone) {
  std::vector<std::uint64_t> words = {0xFFC00000FFC00000};
  for (DType dtype : {DType::int64, DType::int32, DType::uint8, DType::boolean})
    EXPECT_EQ(elements_hash(bytes_of(words), dtype), bits_hash(bytes_of(words)));
}

TEST(ElementsHash, ADataHashDoesNotDependOnTheBitsOfANaN) {
  auto hash_of = [](float nan) {
    World world({.ranks = 2});
    return world.run([=](Rank& rank) { rank.record(tensor_of<float>({2}, {1, nan})); }).data_hash;
  };
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(hash_of(nan), hash_of(-nan));
  EXPECT_NE(hash_of(nan), hash_of(2));
}

}  // namespace
}  // namespace simmesh
