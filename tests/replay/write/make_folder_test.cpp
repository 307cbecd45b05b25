#include "replay/write/make_folder.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

TEST(MakeFolder, MakesThoseAboveIt) {
  simmesh::testing::TemporaryFolder folder;
  std::string path = folder.path().string() + "/a/b/c";
  make_folder(path, "the traces");
  EXPECT_TRUE(std::filesystem::is_directory(path));
  make_folder(path, "the traces");
}

TEST(MakeFolder, SaysWhereItCant) {
  simmesh::testing::TemporaryFolder folder;
  std::string file = folder.write("file", "");
  simmesh::testing::expect_error([&] { make_folder(file, "the traces"); }, ErrorKind::value_error,
                                 "expected a folder for the traces");
  simmesh::testing::expect_error([&] { make_folder(file + "/below", "the traces"); },
                                 ErrorKind::value_error, "expected a folder for the traces");
}

}  // namespace
}  // namespace simmesh::replay
