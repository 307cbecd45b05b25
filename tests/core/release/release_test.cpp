#include "core/release/release.h"

#include "tests/expect_error.h"

namespace simmesh {
namespace {

// Command lines, gates and sources of cases name releases by these words.
TEST(Release, IsReadAsItIsWritten) {
  for (Release release : releases) EXPECT_EQ(parse_release(to_string(release)), release);
  EXPECT_EQ(to_string(newest_release), "2.15");
}

TEST(Release, RefusesOthers) {
  for (const char* text : {"", "2.1", "2.14", "2.15.0", "v2.15", "latest"})
    testing::expect_error([&] { parse_release(text); }, ErrorKind::value_error,
                          "expected 2.13 or 2.15");
}

}  // namespace
}  // namespace simmesh
