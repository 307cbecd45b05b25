#include "checkpoint/store/store.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/error_text.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;

// A file of unknown size is never taken into memory without a bound.
TEST(Store, ReadsAWholeFileUpToABound) {
  MemoryStore store;
  testing::add_file(store, "folder/file", "four");
  EXPECT_EQ(testing::text_of(read_file(store, "folder/file", 4)), "four");
  EXPECT_THAT(testing::error_text([&] { read_file(store, "folder/file", 3); }),
              HasSubstr("folder/file has 4 bytes, expected at most 3"));
  EXPECT_THAT(testing::error_text([&] { read_file(store, "folder", 9); }),
              HasSubstr("memory: no file folder"));
}

TEST(Store, JoinsPathsBelowTheRoot) {
  EXPECT_EQ(joined("", "a"), "a");
  EXPECT_EQ(joined("a", ""), "a");
  EXPECT_EQ(joined("a", "b/c"), "a/b/c");
  EXPECT_EQ(joined("", ""), "");
}

}  // namespace
}  // namespace simmesh::checkpoint
