#include "core/check/append_text.h"

#include <array>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

// If this fails, pages and reports lose text, or what they had before.
TEST(AppendText, AddsToTheEnd) {
  std::string text = "a";
  append_text(text, "{}-{:03}", "b", 7);
  append_text(text, "!");
  EXPECT_EQ(text, "ab-007!");
}

// If this fails, a report of a crash writes beyond its bytes.
TEST(WriteText, CutsWhatDoesNotFit) {
  std::array<char, 6> bytes = {'x', 'x', 'x', 'x', 'x', 'x'};
  gsl::span<char> five(bytes.data(), 5);
  EXPECT_EQ(write_text(five, "{}", 12345678), 5u);
  EXPECT_EQ(std::string(bytes.data(), 6), "12345x");
  EXPECT_EQ(write_text(five, "{}", 9), 1u);
  EXPECT_EQ(std::string(bytes.data(), 6), "92345x");
}

}  // namespace
}  // namespace simmesh
