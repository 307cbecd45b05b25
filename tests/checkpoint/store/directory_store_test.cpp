#include "checkpoint/store/directory_store.h"

#include <filesystem>
#include <gmock/gmock.h>

#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::add_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DirectoryStore, KeepsFilesBelowAFolder) {
  simmesh::testing::TemporaryFolder folder;
  DirectoryStore store((folder.path() / "run").string());
  EXPECT_THAT(store.files(""), IsEmpty()) << "the folder isn't there yet";
  auto file = store.create("step_1/b");
  file->append(testing::bytes_of("four"));
  file->append(testing::bytes_of("more"));
  file->sync();
  add_file(store, "step_1/a/c", "");
  add_file(store, "latest", "x");
  EXPECT_THAT(store.files(""), ElementsAre("latest", "step_1/a/c", "step_1/b"));
  EXPECT_THAT(store.files("step_1"), ElementsAre("a/c", "b"));
  EXPECT_THAT(store.folders(""), ElementsAre("step_1"));
  EXPECT_THAT(store.folders("nowhere"), IsEmpty());
  EXPECT_EQ(store.size("step_1/b"), 8);
  EXPECT_EQ(store.size("step_1"), std::nullopt);
  std::byte out[4];
  store.read("step_1/b", 3, out);
  EXPECT_EQ(testing::text_of(out), "rmor");
  store.sync_folder("step_1");
  store.remove("step_1");
  store.remove("step_1");  // there is nothing to remove
  EXPECT_THAT(store.files(""), ElementsAre("latest"));
}

// The metadata of a checkpoint name files. They must not reach files outside of the store.
TEST(DirectoryStore, RefusesPathsThatLeadOut) {
  simmesh::testing::TemporaryFolder folder;
  DirectoryStore store((folder.path() / "run").string());
  add_file(store, "in", "");
  std::byte out[1];
  for (const char* path : {"../secret", "a/../../secret", "..", "/etc/passwd"}) {
    const auto refused = [&](const auto& call) {
      EXPECT_THAT(error_text(call), HasSubstr(std::string("the path '") + path + "' leads out of"));
    };
    refused([&] { store.read(path, 0, out); });
    refused([&] { static_cast<void>(store.size(path)); });
    refused([&] { static_cast<void>(store.files(path)); });
    refused([&] { static_cast<void>(store.folders(path)); });
    refused([&] { store.create(path); });
    refused([&] { store.open(path); });
    refused([&] { store.rename("in", path); });
    refused([&] { store.rename(path, "in"); });
    refused([&] { store.sync_folder(path); });
    refused([&] { store.remove(path); });
  }
  EXPECT_EQ(store.size("in"), 0);
}

TEST(DirectoryStore, NamesWhatFails) {
  simmesh::testing::TemporaryFolder folder;
  DirectoryStore store(folder.path().string());
  add_file(store, "file", "text");
  add_file(store, "folder/in", "");
  std::filesystem::create_directory(folder.path() / "empty");
  std::byte out[5];
  EXPECT_THAT(error_text([&] { store.read("none", 0, out); }),
              HasSubstr("none: No such file or directory"));
  EXPECT_THAT(error_text([&] { store.read("file", 0, out); }),
              HasSubstr("file: the file ends too early"));
  EXPECT_THAT(error_text([&] { store.read("file", -1, out); }), HasSubstr("cannot read"));
  EXPECT_THAT(error_text([&] { store.create("file"); }), HasSubstr("file: File exists"));
  EXPECT_THAT(error_text([&] { store.create("file/in"); }), HasSubstr("cannot make the folder of"));
  EXPECT_THAT(error_text([&] { store.rename("folder", "empty"); }), HasSubstr("empty exists"));
  EXPECT_THAT(error_text([&] { store.rename("none", "other"); }), HasSubstr("cannot rename"));
  EXPECT_THAT(error_text([&] { store.sync_folder("file"); }), HasSubstr("cannot sync"));
  store.rename("file", "folder/in");  // replaces a file
  EXPECT_EQ(store.size("folder/in"), 4);
}

// Two stores of one folder are like two programs: a lock keeps the second one out.
TEST(DirectoryStore, OneWriterHasTheLock) {
  simmesh::testing::TemporaryFolder folder;
  DirectoryStore store(folder.path().string()), other(folder.path().string());
  auto held = store.lock();
  EXPECT_THAT(error_text([&] { other.lock(); }), HasSubstr("another save is under way"));
  held.reset();
  EXPECT_NE(other.lock(), nullptr);
}

}  // namespace
}  // namespace simmesh::checkpoint
