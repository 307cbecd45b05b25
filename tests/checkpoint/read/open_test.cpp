#include "checkpoint/read/open.h"

#include <gmock/gmock.h>

#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/native/commit.h"
#include "checkpoint/safetensors/safetensors_file.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::add_file;
using ::testing::HasSubstr;

struct OpenedFolder {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();

  void add_safetensors(const std::string& path, const std::string& name) {
    write_safetensors(*store->create(path), {{name, StoredDType::u8, {0}, {}}});
  }
  OpenCheckpoint opened(const std::string& name) { return open({store, name}); }
  // Returns the format, the folder and the first name in one line.
  std::string what(const std::string& name) {
    OpenCheckpoint checkpoint = opened(name);
    return checkpoint.catalog.format + " " + checkpoint.folder + " " +
           (checkpoint.catalog.tensors.empty() ? "" : checkpoint.catalog.tensors[0].name);
  }
};

// A folder may have files of several formats. The wrong choice would load other weights.
TEST(Open, KnowsEachFormat) {
  OpenedFolder folder;
  folder.add_safetensors("hf/a.safetensors", "whole");
  EXPECT_EQ(folder.what("hf"), "safetensors hf whole");
  folder.add_safetensors("hf/sharded/b.safetensors", "shard");
  EXPECT_EQ(folder.what("hf"), "safetensors hf/sharded shard");
  EXPECT_EQ(folder.what("hf/a.safetensors"), "safetensors  whole");
  add_file(*folder.store, "hf/.metadata", testing::text_of(dcp_metadata_pickle({})));
  EXPECT_EQ(folder.what("hf"), "dcp hf ");
  Commit({folder.store, "ours"}).finish({}, {});
  EXPECT_EQ(folder.what("ours"), "simmesh ours ");
}

TEST(Open, KnowsWhatExists) {
  OpenedFolder folder;
  add_file(*folder.store, "run/step/file", "");
  for (const char* name : {"", "run", "run/step", "run/step/file"})
    EXPECT_TRUE(exists({folder.store, name})) << name;
  for (const char* name : {"file", "ru", "run/step/file/x", "step"})
    EXPECT_FALSE(exists({folder.store, name})) << name;
}

TEST(Open, RefusesWhatIsNoCheckpoint) {
  OpenedFolder folder;
  auto problem = [&](const char* name) { return error_text([&] { folder.opened(name); }); };
  EXPECT_THAT(problem("none"), HasSubstr("memory/none: expected a checkpoint"));
  EXPECT_THAT(problem("none"), HasSubstr("got no such file or folder"));
  add_file(*folder.store, "other/text", "");
  EXPECT_THAT(problem("other"), HasSubstr("got 1 other file"));
  EXPECT_THAT(problem("other/text"),
              HasSubstr("memory/other/text: expected a folder or a safetensors file, and as such: "
                        "memory/other/text: 0 bytes, expected at least 8"));
  folder.store->remove("other/text");
  EXPECT_THAT(problem("other"), HasSubstr("got an empty folder"));
  folder.add_safetensors("several/b/x.safetensors", "t");
  EXPECT_THAT(problem("several"), HasSubstr("got 1 folder: b"));
  EXPECT_THAT(problem(""), HasSubstr("got 2 folders: other, several"));
  for (const char* name :
       {"several/a/x", "several/c/x", "several/d/x", "several/e/x", "several/f/x", "several/y"})
    add_file(*folder.store, name, "");
  EXPECT_THAT(problem("several"), HasSubstr("got 1 other file and 6 folders: a, b, c, d, e, ..."));
  add_file(*folder.store, "cut/manifest.json", "{}");
  add_file(*folder.store, "cut/a.safetensors", "");
  EXPECT_THAT(problem("cut"), HasSubstr("the checkpoint was never finished"));
}

}  // namespace
}  // namespace simmesh::checkpoint
