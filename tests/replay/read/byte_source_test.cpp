#include "replay/read/byte_source.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace simmesh::replay {
namespace {

std::string rest_of(ByteSource& source, std::size_t step) {
  std::string text;
  std::vector<char> places(step);
  while (std::size_t count = source.read(places)) text.append(places.data(), count);
  return text;
}

TEST(ByteSource, GivesAllBytesInAnySteps) {
  std::string text = "0123456789";
  for (std::size_t step = 1; step <= text.size() + 1; ++step) {
    TextSource source("text", text);
    EXPECT_EQ(rest_of(source, step), text);
  }
}

TEST(ByteSource, ALookAtTheHeadTakesNothing) {
  std::string text(10'000, 'x');
  text += "end";
  TextSource source("text", text);
  EXPECT_EQ(source.head(), text.substr(0, 4096));
  EXPECT_EQ(source.head(), text.substr(0, 4096));
  EXPECT_EQ(rest_of(source, 1000), text);
  TextSource nothing("text", {});
  EXPECT_EQ(nothing.head(), "");
  EXPECT_EQ(rest_of(nothing, 8), "");
}

}  // namespace
}  // namespace simmesh::replay
