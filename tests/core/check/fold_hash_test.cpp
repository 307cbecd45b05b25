#include "core/check/fold_hash.h"

#include <gtest/gtest.h>
#include <initializer_list>

namespace simmesh {
namespace {

constexpr std::uint64_t folded(std::uint64_t seed, std::initializer_list<std::uint64_t> words) {
  FoldHash hash(seed);
  for (std::uint64_t word : words) hash.fold(word);
  return hash.value();
}

// If this fails, schedule hashes printed by earlier builds no longer compare.
TEST(FoldHash, ValuesAreFixed) {
  EXPECT_EQ(folded(0, {}), 0x6A09E667F3BCC908u);
  EXPECT_EQ(folded(0, {1, 2, 3}), 0xA1A5D06E835EF757u);
  EXPECT_EQ(folded(7, {1, 2, 3}), 0x0D5C165615F4D096u);
}

// If this fails, two different schedules share a hash.
TEST(FoldHash, OrderLengthAndSeedCount) {
  EXPECT_NE(folded(0, {1, 2}), folded(0, {2, 1}));
  EXPECT_NE(folded(0, {1}), folded(0, {1, 0}));
  EXPECT_NE(folded(0, {1}), folded(1, {1}));
  for (int bit = 0; bit < 64; ++bit)
    EXPECT_NE(folded(0, {std::uint64_t(1) << bit, 5}), folded(0, {0, 5})) << bit;
}

}  // namespace
}  // namespace simmesh
