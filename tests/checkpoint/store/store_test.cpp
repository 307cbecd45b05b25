#include "checkpoint/store/store.h"

#include <gmock/gmock.h>

#include "checkpoint/store/directory_store.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;

// A file of unknown size is never read into memory without a bound.
TEST(Store, ReadsAWholeFileUpToABound) {
  MemoryStore store;
  testing::add_file(store, "folder/file", "four");
  EXPECT_EQ(testing::text_of(read_file(store, "folder/file", 4)), "four");
  EXPECT_THAT(simmesh::testing::error_text([&] { read_file(store, "folder/file", 3); }),
              HasSubstr("folder/file has 4 bytes, expected at most 3"));
  EXPECT_THAT(simmesh::testing::error_text([&] { read_file(store, "folder", 9); }),
              HasSubstr("memory: no file folder"));
}

// A file is read in pieces in any order, opened once or for each piece.
TEST(Store, ReadsAnOpenFileInPieces) {
  simmesh::testing::TemporaryFolder folder;
  MemoryStore memory;
  DirectoryStore directory(folder.path().string());
  for (Store* store : {static_cast<Store*>(&memory), static_cast<Store*>(&directory)}) {
    testing::add_file(*store, "folder/file", "abcdef");
    auto file = store->open("folder/file");
    std::byte out[2];
    for (std::int64_t begin : {4, 0, 1}) {
      file->read(begin, out);
      EXPECT_EQ(testing::text_of(out), std::string("abcdef").substr(std::size_t(begin), 2));
    }
    EXPECT_THAT(simmesh::testing::error_text([&] { file->read(5, out); }),
                HasSubstr("folder/file"));
    EXPECT_THAT(simmesh::testing::error_text([&] { store->open("none")->read(0, out); }),
                HasSubstr("none"));
  }
}

TEST(Store, JoinsPathsBelowTheRoot) {
  EXPECT_EQ(joined("", "a"), "a");
  EXPECT_EQ(joined("a", ""), "a");
  EXPECT_EQ(joined("a", "b/c"), "a/b/c");
  EXPECT_EQ(joined("", ""), "");
}

}  // namespace
}  // namespace simmesh::checkpoint
