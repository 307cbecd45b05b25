#include "core/check/write_file.h"

#include <filesystem>
#include <gmock/gmock.h>

#include "core/check/error.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// If this fails, a file is lost, or a half of one stays.
TEST(WriteFile, WritesAllAndLeavesNothingElse) {
  testing::TemporaryFolder folder;
  std::string path = (folder.path() / "a.txt").string();
  for (const char* text : {"first", "second"}) {
    expect_writable(path, "a text");
    write_file(path, text, "a text");
    EXPECT_EQ(folder.read("a.txt"), text);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    EXPECT_EQ(entry.path().filename(), "a.txt");
}

TEST(WriteFile, SaysWhatCantBeWritten) {
  testing::TemporaryFolder folder;
  for (const std::string& path :
       {(folder.path() / "no" / "a.txt").string(), folder.path().string()}) {
    auto message = HasSubstr("expected to write a text, but '" + path + "' can't be written to");
    EXPECT_THAT([&] { write_file(path, "x", "a text"); }, ThrowsMessage<Error>(message));
    EXPECT_THAT([&] { expect_writable(path, "a text"); }, ThrowsMessage<Error>(message));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// If this fails, writing to /dev/null replaces the device by a file.
TEST(WriteFile, WritesIntoWhatIsNoRegularFile) {
  testing::TemporaryFolder folder;
  auto link = folder.path() / "null";
  std::filesystem::create_symlink("/dev/null", link);
  write_file(link.string(), "x", "a text");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

}  // namespace
}  // namespace simmesh
