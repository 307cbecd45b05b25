#include "checkpoint/native/commit.h"

#include <gmock/gmock.h>

#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::add_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> names_in(const Store& store) {
  std::vector<std::string> names;
  for (const CommittedCheckpoint& checkpoint : committed_checkpoints(store))
    names.push_back(checkpoint.name);
  return names;
}

std::int64_t commit_empty(const std::shared_ptr<Store>& store, const std::string& name,
                          const CommitOptions& options = {}) {
  return Commit({store, name}).finish({}, options).number;
}

TEST(Commit, NumbersCheckpointsInOrder) {
  auto store = std::make_shared<MemoryStore>();
  EXPECT_EQ(latest(store), std::nullopt);
  EXPECT_EQ(commit_empty(store, "b"), 1);
  EXPECT_EQ(commit_empty(store, "c"), 2);
  EXPECT_EQ(commit_empty(store, "a"), 3);
  EXPECT_THAT(names_in(*store), ElementsAre("b", "c", "a"));
  EXPECT_EQ(latest(store)->name, "a");
  EXPECT_THAT(store->files("a"), ElementsAre(commit_file, manifest_file));
}

TEST(Commit, KeepsTheYoungestAndAtLeastOne) {
  auto store = std::make_shared<MemoryStore>();
  for (const char* name : {"a", "b", "c"}) commit_empty(store, name);
  commit_empty(store, "d", {.keep = 2});
  EXPECT_THAT(names_in(*store), ElementsAre("c", "d"));
  commit_empty(store, "e", {.keep = 0});
  EXPECT_THAT(names_in(*store), ElementsAre("e"));
  EXPECT_EQ(commit_empty(store, "f", {.keep = 9}), 6);
  EXPECT_THAT(names_in(*store), ElementsAre("e", "f"));
}

// A failed save leaves nothing, and the next one removes the leftovers of a stopped machine.
TEST(Commit, LeavesNothingUnlessItIsFinished) {
  auto store = std::make_shared<MemoryStore>();
  {
    Commit commit({store, "a"});
    EXPECT_EQ(commit.staging(), "a.saving");
    add_file(*store, "a.saving/data", "half");
  }
  EXPECT_THAT(store->files(""), IsEmpty());
  add_file(*store, "old.saving/data", "half");
  add_file(*store, "old.removing/commit.json", "half");
  commit_empty(store, "a");
  EXPECT_THAT(store->folders(""), ElementsAre("a"));
}

// A save that is killed after its rename leaves a folder with a manifest and no record.
TEST(Commit, RemovesWhatASaveLeftAfterItsRename) {
  auto store = std::make_shared<MemoryStore>();
  commit_empty(store, "cut_off");
  store->remove("cut_off/commit.json");
  add_file(*store, "other/manifest.json", R"({"name":"a page"})");
  commit_empty(store, "a");
  EXPECT_THAT(store->folders(""), ElementsAre("a", "other"));
}

TEST(Commit, NeverOverwrites) {
  auto store = std::make_shared<MemoryStore>();
  auto begin = [&](const char* name) { return error_text([&] { Commit({store, name}); }); };
  commit_empty(store, "a");
  EXPECT_THAT(begin("a"), HasSubstr("a save never overwrites"));
  add_file(*store, "other/file", "");
  EXPECT_NE(begin("other"), "") << "a folder that is no checkpoint";
  EXPECT_THAT(begin("a.saving"), HasSubstr("a name may not end in .saving or .removing"));
  EXPECT_THAT(begin("a.removing"), HasSubstr("a name may not end in .saving or .removing"));
  auto held = store->lock();
  EXPECT_THAT(begin("b"), HasSubstr("another save is under way"));
}

// A folder is a checkpoint only with a whole commit record.
TEST(Commit, TakesBrokenRecordsForNone) {
  auto store = std::make_shared<MemoryStore>();
  commit_empty(store, "a");
  commit_empty(store, "b");
  add_file(*store, "no_record/manifest.json", "{}");
  add_file(*store, "broken/commit.json", "[[[");
  store->flip("b/commit.json", 12, 0);
  EXPECT_THAT(names_in(*store), ElementsAre("a"));
  EXPECT_EQ(latest(store)->name, "a") << "the file names a checkpoint that is broken";
}

TEST(Commit, FindsTheLatestWithoutItsFile) {
  auto store = std::make_shared<MemoryStore>();
  commit_empty(store, "a");
  commit_empty(store, "b", {.updates_latest = false});
  EXPECT_EQ(latest(store)->name, "a");
  for (const std::string& text :
       {std::string("nowhere\n"), std::string(), std::string(9999, 'a')}) {
    store->remove(latest_file);
    EXPECT_EQ(latest(store)->name, "b");
    add_file(*store, latest_file, text);
    EXPECT_EQ(latest(store)->name, "b") << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace simmesh::checkpoint
