#include "core/release/release_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/release/release_change.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// If this fails, a page leaves out what differs between releases, or files it under another area.
TEST(ReleasePage, HasARowForEachChangeUnderItsArea) {
  std::string page = release_page();
  std::size_t at = 0;
  std::string_view area;
  for (const ReleaseChangeRow& row : release_changes()) {
    if (row.area != area) at = page.find("\n## " + std::string(row.area) + "\n", at);
    area = row.area;
    ASSERT_NE(at, page.npos) << row.area;
    at = page.find(std::string(row.before), at);
    ASSERT_NE(at, page.npos) << row.name;
    EXPECT_THAT(page.substr(at, page.find('\n', at) - at), HasSubstr(std::string(row.after)));
  }
}

}  // namespace
}  // namespace simmesh
