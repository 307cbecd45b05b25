#include "replay/trace/text_pool.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

TEST(TextPool, KeepsEachTextOnce) {
  TextPool pool;
  EXPECT_EQ(pool.id_of(""), TextId{});
  TextId first = pool.id_of("first"), second = pool.id_of("second");
  EXPECT_NE(first, second);
  EXPECT_EQ(pool.id_of("first"), first);
  EXPECT_EQ(pool[second], "second");
  EXPECT_EQ(pool.size(), 3u);
}

// Views of the texts of another pool would dangle.
TEST(TextPool, ACopyHasTheSameIdsAndItsOwnTexts) {
  TextPool copy;
  {
    TextPool pool;
    for (int i = 0; i < 1000; ++i) pool.id_of(std::to_string(i));
    copy = pool;
  }
  EXPECT_EQ(copy.size(), 1001u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(copy.id_of(std::to_string(i)), TextId(i + 1));
  EXPECT_EQ(copy.size(), 1001u);
}

}  // namespace
}  // namespace simmesh::replay
