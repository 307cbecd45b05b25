#include "checkpoint/store/remove_after_failure.h"

#include <gmock/gmock.h>

#include "checkpoint/store/directory_store.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"

namespace simmesh::checkpoint {
namespace {

// If this fails, leftovers stay, or the removal's failure hides the first one.
TEST(RemoveAfterFailure, RemovesAndRaisesNothing) {
  MemoryStore store;
  testing::add_file(store, "a/half", "");
  remove_after_failure(store, "a");
  EXPECT_THAT(store.files(""), ::testing::IsEmpty());
  DirectoryStore folder(::testing::TempDir());
  EXPECT_NO_THROW(remove_after_failure(folder, "../leads out"));
}

}  // namespace
}  // namespace simmesh::checkpoint
