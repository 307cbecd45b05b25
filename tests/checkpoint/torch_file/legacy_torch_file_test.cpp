#include "checkpoint/torch_file/legacy_torch_file.h"

#include <gmock/gmock.h>

#include "checkpoint/store/directory_store.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::HasSubstr;

std::string recorded_legacy_file() {
  DirectoryStore files(SIMMESH_SOURCE_DIR "/tests/checkpoint/pytorch/files");
  return testing::text_of(read_file(files, "training_legacy.pt", 1 << 20));
}

std::string legacy_problem(const std::string& text) {
  MemoryStore store;
  testing::add_file(store, "f.pt", text);
  return error_text([&] { read_legacy_torch_file(store, "f.pt"); });
}

TEST(LegacyTorchFile, FindsTheStoragesBehindThePickles) {
  MemoryStore store;
  std::string text = recorded_legacy_file();
  testing::add_file(store, "f.pt", text);
  EXPECT_TRUE(is_legacy_torch_file(store, "f.pt"));
  LegacyTorchFile file = read_legacy_torch_file(store, "f.pt");
  EXPECT_NE(find_field(file.value.root(), "epoch"), nullptr);
  EXPECT_GE(file.storages.size(), 4u);
  for (const auto& [key, place] : file.storages)
    EXPECT_LE(place.begin + place.bytes, std::int64_t(text.size())) << key;
}

// A file that is cut off anywhere must never be taken for a smaller one.
TEST(LegacyTorchFile, RefusesEveryTruncation) {
  std::string text = recorded_legacy_file();
  EXPECT_EQ(legacy_problem(text), "");
  for (std::size_t size = 15; size < text.size(); ++size)
    ASSERT_NE(legacy_problem(text.substr(0, size)), "") << size;
  EXPECT_THAT(legacy_problem(text + "x"), HasSubstr("bytes behind the last storage"));
}

TEST(LegacyTorchFile, OtherFilesHaveNoMark) {
  MemoryStore store;
  testing::add_file(store, "short", "\x80");
  testing::add_file(store, "text", "a text of more than fifteen bytes");
  for (const char* path : {"short", "text", "none"})
    EXPECT_FALSE(is_legacy_torch_file(store, path)) << path;
}

}  // namespace
}  // namespace simmesh::checkpoint
