#include "core/check/bits_hash.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace simmesh {
namespace {

std::vector<std::byte> bytes_of(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = std::byte(i * 131 % 251);
  return bytes;
}

// If this fails, a collective hashed block by block reports another hash than the whole tensor.
TEST(BitsHash, PiecesHashLikeTheWhole) {
  for (std::size_t count : {0u, 1u, 17u, 240u, 241u, 1024u, 5000u}) {
    std::vector<std::byte> bytes = bytes_of(count);
    gsl::span<const std::byte> whole = bytes;
    for (std::size_t piece : {1u, 7u, 64u, 333u, 5000u}) {
      BitsHash hash;
      for (std::size_t at = 0; at < count; at += piece)
        hash.update(whole.subspan(at, std::min(piece, count - at)));
      EXPECT_EQ(hash.value(), bits_hash(whole)) << count << " bytes in pieces of " << piece;
    }
  }
}

// If this fails, the algorithm or its seed changed, and with it every recorded data hash.
TEST(BitsHash, IsXxh3WithSeedZero) { EXPECT_EQ(bits_hash({}), 0x2D06800538D394C2u); }

// If this fails, reading a hash early would change the final one.
TEST(BitsHash, ValueMayBeReadInBetween) {
  std::vector<std::byte> bytes = bytes_of(600);
  gsl::span<const std::byte> whole = bytes;
  BitsHash hash;
  hash.update(whole.first(300));
  EXPECT_EQ(hash.value(), bits_hash(whole.first(300)));
  hash.update(whole.subspan(300));
  EXPECT_EQ(hash.value(), bits_hash(whole));
}

// If this fails, a flipped bit goes unnoticed.
TEST(BitsHash, EveryBitCounts) {
  std::vector<std::byte> bytes = bytes_of(40);
  std::uint64_t before = bits_hash(bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte(1 << (bit % 8));
    EXPECT_NE(bits_hash(bytes), before) << bit;
    bytes[bit / 8] ^= std::byte(1 << (bit % 8));
  }
}

}  // namespace
}  // namespace simmesh
