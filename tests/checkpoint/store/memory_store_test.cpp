#include "checkpoint/store/memory_store.h"

#include <gmock/gmock.h>

#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::add_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using After = MemoryStore::After;

std::string text_in(const MemoryStore& store, const std::string& path) {
  return testing::text_of(read_file(store, path, 100));
}

TEST(MemoryStore, ListsFilesAndFolders) {
  MemoryStore store;
  add_file(store, "b/y", "1");
  add_file(store, "b/x/z", "2");
  add_file(store, "a", "3");
  EXPECT_THAT(store.files(""), ElementsAre("a", "b/x/z", "b/y"));
  EXPECT_THAT(store.files("b"), ElementsAre("x/z", "y"));
  EXPECT_THAT(store.folders(""), ElementsAre("b"));
  EXPECT_THAT(store.files("nowhere"), IsEmpty());
  EXPECT_EQ(store.size("b"), std::nullopt);
  EXPECT_EQ(store.size("b/x/z"), 1);
}

// When the machine stops, unsynced bytes are lost, and unsynced names, too.
TEST(MemoryStore, KeepsWhatWasSyncedWhenTheMachineStops) {
  MemoryStore store;
  auto file = store.create("folder/file");
  file->append(testing::bytes_of("kept"));
  file->sync();
  file->append(testing::bytes_of("lost"));
  EXPECT_THAT(store.stopped(After::only_synced).files(""), IsEmpty());
  store.sync_folder("folder");
  EXPECT_THAT(store.stopped(After::only_synced).files(""), IsEmpty()) << "the folder has no name";
  store.sync_folder("");
  EXPECT_EQ(text_in(store.stopped(After::only_synced), "folder/file"), "kept");
  EXPECT_EQ(text_in(store.stopped(After::half_of_each_file), "folder/file"), "keptlo");
  EXPECT_EQ(text_in(store.stopped(After::everything), "folder/file"), "keptlost");
}

TEST(MemoryStore, ARenameOrRemovalThatWasNotSyncedIsUndone) {
  MemoryStore store;
  add_file(store, "a", "");
  store.sync_folder("");
  store.rename("a", "b");
  EXPECT_THAT(store.stopped(After::only_synced).files(""), ElementsAre("a"));
  store.sync_folder("");
  EXPECT_THAT(store.stopped(After::only_synced).files(""), ElementsAre("b"));
  store.remove("b");
  EXPECT_THAT(store.files(""), IsEmpty());
  EXPECT_THAT(store.stopped(After::only_synced).files(""), ElementsAre("b"));
}

TEST(MemoryStore, RefusesAsAFileSystemDoes) {
  MemoryStore store;
  add_file(store, "file", "text");
  add_file(store, "folder/in", "");
  std::byte out[5];
  EXPECT_THAT(error_text([&] { store.read("file", 0, out); }), HasSubstr("ends too early"));
  EXPECT_THAT(error_text([&] { store.read("file", -1, {out, 1}); }), HasSubstr("ends too early"));
  EXPECT_THAT(error_text([&] { store.read("none", 0, out); }),
              HasSubstr("cannot read none in memory: no such file"));
  EXPECT_THAT(error_text([&] { store.create("file"); }), HasSubstr("the file exists"));
  EXPECT_THAT(error_text([&] { store.create("file/in"); }),
              HasSubstr("a file has the name of its folder"));
  EXPECT_THAT(error_text([&] { store.sync_folder("none"); }), HasSubstr("no such folder"));
  EXPECT_THAT(error_text([&] { store.rename("none", "x"); }), HasSubstr("no such file or folder"));
  EXPECT_THAT(error_text([&] { store.rename("file", "none/x"); }),
              HasSubstr("no folder for the new name"));
  EXPECT_THAT(error_text([&] { store.rename("file", "folder"); }),
              HasSubstr("the new name is taken"));
  EXPECT_THAT(error_text([&] { store.flip("file", 4, 0); }), HasSubstr("no such byte"));
  store.remove("none");
}

TEST(MemoryStore, OneWriterHasTheLock) {
  MemoryStore store;
  MemoryStore same = store;
  auto held = store.lock();
  EXPECT_THAT(error_text([&] { same.lock(); }), HasSubstr("another save is under way"));
  held.reset();
  EXPECT_NE(same.lock(), nullptr);
}

}  // namespace
}  // namespace simmesh::checkpoint
