#include "core/check/edit_distance.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// The nearest known key is the one that a user meant.
TEST(EditDistance, CountsLettersToInsertRemoveOrChange) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("batch", "batch"), 0u);
  EXPECT_EQ(edit_distance("bacth", "batch"), 2u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("sitting", "kitten"), 3u);
}

}  // namespace
}  // namespace simmesh
