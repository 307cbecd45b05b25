#include "checkpoint/format/new_folder.h"

#include <gmock/gmock.h>
#include <new>

#include "checkpoint/store/memory_store.h"
#include "core/check/error.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NewFolder, LeavesNothingBehindAnError) {
  auto store = std::make_shared<MemoryStore>();
  EXPECT_THAT(simmesh::testing::error_text([&] {
                in_new_folder({store, "a"}, [&] {
                  testing::add_file(*store, "a/half", "");
                  raise(ErrorKind::runtime_error, "here", "the disk is full");
                });
              }),
              HasSubstr("the disk is full"));
  EXPECT_THAT(store->files(""), IsEmpty());
}

// If this fails, half a checkpoint stays where memory ran out.
TEST(NewFolder, LeavesNothingBehindAnyException) {
  auto store = std::make_shared<MemoryStore>();
  EXPECT_THROW(in_new_folder({store, "a"},
                             [&] {
                               testing::add_file(*store, "a/half", "");
                               throw std::bad_alloc();
                             }),
               std::bad_alloc);
  EXPECT_THAT(store->files(""), IsEmpty());
}

TEST(NewFolder, NeverWritesIntoWhatIsThere) {
  auto store = std::make_shared<MemoryStore>();
  testing::add_file(*store, "a/old", "");
  for (const char* name : {"a", "a/old"})
    EXPECT_THAT(simmesh::testing::error_text([&] {
                  in_new_folder({store, name}, [] { ADD_FAILURE() << "it was written"; });
                }),
                HasSubstr(fmt::format("memory/{} exists", name)));
  EXPECT_THAT(store->files(""), ElementsAre("a/old"));
}

}  // namespace
}  // namespace simmesh::checkpoint
