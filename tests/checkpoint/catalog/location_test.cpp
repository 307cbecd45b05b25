#include "checkpoint/catalog/location.h"

#include <filesystem>
#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

TEST(Location, OfAFolderIsItsNameInAStore) {
  for (auto [path, root, name] : {std::tuple("run/step", "run", "step"),
                                  {"step", ".", "step"},
                                  {"run/step/", "run", "step"},
                                  {"run/./x/../step", "run", "step"},
                                  {"/step", "/", "step"}}) {
    Location location = Directory(path);
    EXPECT_EQ(location.store->name(), root) << path;
    EXPECT_EQ(location.name, name) << path;
  }
  EXPECT_EQ(Directory("run/step").text(), "run/step");
  EXPECT_EQ(Directory("/step").text(), "/step");
}

// The current folder has a name, too.
TEST(Location, FindsTheNameOfThisFolder) {
  std::filesystem::path here = std::filesystem::canonical(".");
  for (const char* path : {".", "./", "run/.."})
    EXPECT_EQ(Directory(path).text(), here.string()) << path;
  EXPECT_EQ(Directory("..").text(), here.parent_path().string());
}

// A save renames the whole folder, so it needs a name.
TEST(Location, NeedsAName) {
  for (const char* path : {"", "/"})
    EXPECT_THAT(simmesh::testing::error_text([&] { Directory(path); }),
                ::testing::HasSubstr("expected a folder with a name of its own"))
        << path;
}

}  // namespace
}  // namespace simmesh::checkpoint
