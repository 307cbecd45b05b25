#include "core/check/read_file.h"

#include <fstream>
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using testing::expect_error;

std::string read(const std::string& path, std::size_t bytes_max = 1 << 20) {
  return read_file({.where = "a/place", .what = "a list", .path = path, .bytes_max = bytes_max});
}

// If this fails, a file's end is lost, or text appears that isn't in it.
TEST(ReadFile, ReturnsAllBytes) {
  testing::TemporaryFolder folder;
  std::string path = folder.path() / "list";
  for (std::size_t length : {std::size_t(0), std::size_t(3), std::size_t(600'000)}) {
    std::string text(length, '\0');
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_EQ(read(path), text);
    EXPECT_EQ(read(path, length), text);
  }
  EXPECT_EQ(read("/dev/null"), "");
}

// If this fails, a device that never ends takes all memory.
TEST(ReadFile, ReadsNoMoreThanItMay) {
  expect_error([] { read("/dev/zero", 1000); }, ErrorKind::value_error,
               "[a/place] expected a list of at most 1000 bytes, got more in '/dev/zero'");
}

// If this fails, a file that can't be read counts as an empty one, or nobody learns the reason.
TEST(ReadFile, SaysWhyAFileCannotBeRead) {
  testing::TemporaryFolder folder;
  expect_error([&] { read(folder.path()); }, ErrorKind::value_error, "Is a directory");
  expect_error([&] { read(folder.path() / "none"); }, ErrorKind::value_error,
               "which can't be read: No such file or directory");
  expect_error([] { read("/proc/self/mem"); }, ErrorKind::value_error, "Input/output error");
}

}  // namespace
}  // namespace simmesh
