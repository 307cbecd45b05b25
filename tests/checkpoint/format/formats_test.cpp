#include "checkpoint/format/formats.h"

#include <fstream>
#include <gmock/gmock.h>
#include <set>
#include <sstream>

#include "checkpoint/store/directory_store.h"
#include "checkpoint/store/memory_store.h"
#include "tests/checkpoint/file_bytes.h"
#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;

// A name that two formats had would make one of them unreachable.
TEST(Formats, AreFoundByTheirNames) {
  std::set<std::string_view> names;
  for (const Format* format : formats) {
    EXPECT_TRUE(names.insert(format->name).second) << format->name;
    EXPECT_EQ(find_format(format->name), format);
  }
  EXPECT_EQ(find_format("zip"), nullptr);
  EXPECT_EQ(find_format(""), nullptr);
}

TEST(Formats, AreListedForPeople) {
  EXPECT_EQ(written_formats(), "simmesh, dcp or safetensors");
  EXPECT_EQ(format_titles(),
            "simmesh's own, PyTorch's DCP, DeepSpeed's, files of torch.save or safetensors");
  EXPECT_EQ(format_marks(),
            "commit.json, .metadata, *_states.pt, *.pt, *.pth, *.bin or *.safetensors");
  EXPECT_EQ(&written_format("dcp"), &dcp_format);
  for (const char* name : {"deepspeed", "zip"})
    EXPECT_THAT(
        simmesh::testing::error_text([&] { written_format(name); }),
        HasSubstr(fmt::format("expected the format simmesh, dcp or safetensors, got '{}'", name)));
}

// A format that took what isn't its own would hide the checkpoints of those behind it.
TEST(Formats, FindNothingWhereNothingIs) {
  simmesh::testing::TemporaryFolder folder;
  folder.write("file", "text");
  for (const Format* format : formats) {
    EXPECT_FALSE(format->opens({std::make_shared<MemoryStore>(), "none"})) << format->name;
    auto store = std::make_shared<MemoryStore>();
    testing::add_file(*store, "folder/file", "text");
    EXPECT_FALSE(format->opens({store, "folder"})) << format->name;
    // A file by itself can only be one of safetensors.
    if (format == &safetensors_format) continue;
    EXPECT_FALSE(format->opens({store, "folder/file"})) << format->name;
    EXPECT_FALSE(format->opens(Directory(folder.path().string() + "/file"))) << format->name;
  }
}

// A format that the page doesn't name is one that nobody finds.
TEST(Formats, AreOnThePage) {
  std::ifstream file(SIMMESH_SOURCE_DIR "/docs/checkpoint.md");
  std::stringstream page;
  page << file.rdbuf();
  std::string text = page.str();
  std::string table = text.substr(text.find("## Formats\n"));
  table = table.substr(0, table.find("```sh"));
  for (const Format* format : formats)
    EXPECT_THAT(table, HasSubstr(fmt::format("\n| `{}` | ", format->name)));
}

}  // namespace
}  // namespace simmesh::checkpoint
