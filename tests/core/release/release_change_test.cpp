#include "core/release/release_change.h"

#include <gtest/gtest.h>
#include <set>

namespace simmesh {
namespace {

// Two rows of one change would leave open which one counts.
TEST(ReleaseChange, HasOneRow) {
  std::set<ReleaseChange> changes;
  std::set<std::string_view> names;
  for (const ReleaseChangeRow& row : release_changes()) {
    EXPECT_TRUE(changes.insert(row.change).second) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&row_of(row.change), &row);
  }
}

// A row in which all releases have the same half says nothing.
TEST(ReleaseChange, TellsReleasesApart) {
  for (const ReleaseChangeRow& row : release_changes()) {
    EXPECT_FALSE(has(releases.front(), row.change)) << row.name;
    EXPECT_TRUE(has(newest_release, row.change)) << row.name;
    EXPECT_NE(row.before, row.after) << row.name;
  }
}

}  // namespace
}  // namespace simmesh
