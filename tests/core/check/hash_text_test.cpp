#include "core/check/hash_text.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A hash that a file keeps would be another one when it is read.
TEST(HashText, ComesBackFromItsText) {
  EXPECT_EQ(hash_text(0x1D), "000000000000001d");
  for (std::uint64_t hash : {std::uint64_t(0), std::uint64_t(0x1D), ~std::uint64_t(0)})
    EXPECT_EQ(hash_from_text(hash_text(hash)), hash);
}

// A damaged hash would be taken for another one.
TEST(HashText, OtherTextsAreNone) {
  for (const char* text : {"", "1d", "000000000000001D", "000000000000001g", "0000000000000001d",
                           "-00000000000001d", "000000000000001d "})
    EXPECT_FALSE(hash_from_text(text)) << text;
}

}  // namespace
}  // namespace simmesh
