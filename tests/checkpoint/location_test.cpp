#include "checkpoint/location.h"

#include <gmock/gmock.h>

#include "tests/checkpoint/error_text.h"

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
}

// A checkpoint is renamed as a whole, so it needs a name.
TEST(Location, NeedsAName) {
  for (const char* path : {"", "/", ".", "..", "run/.."})
    EXPECT_THAT(testing::error_text([&] { Directory(path); }),
                ::testing::HasSubstr("expected a folder with a name of its own"))
        << path;
}

}  // namespace
}  // namespace simmesh::checkpoint
