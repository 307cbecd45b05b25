#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// A folder includes only the folders before it, and an include names a file by its path from the
// root. Without these rules folders depend on each other in cycles, no folder can be understood,
// tested or replaced alone, and editors need a build to follow an include.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

bool are_apart(std::string_view includer, std::string_view included) {
  for (const std::vector<std::string_view>& folders : apart)
    for (std::string_view one : folders)
      for (std::string_view other : folders)
        if (one != other && is_below(includer, one) && is_below(included, other)) return true;
  return false;
}

std::string why_not_included(std::string_view includer, std::string_view included) {
  if (included == "simmesh.h") return "simmesh.h is for users, not for the libraries";
  std::optional<std::size_t> to = house_row(included);
  if (!to) return fmt::format("{} is in no folder of tests/tidy/house.h", included);
  std::size_t from = *house_row(includer);
  if (are_apart(includer, included))
    return fmt::format("{} may not include {}: their folders are apart", includer, included);
  if (*to < from || house_folder(included) == house_folder(includer)) return {};
  return fmt::format("{} may not include from {}", house_folder(includer), house_folder(included));
}

std::vector<Finding> wrong_includes(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_cpp() || !house_row(file.path())) return findings;
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    std::string_view path = quoted_include(file.lines()[i]);
    if (path.empty()) continue;
    std::string why = why_not_included(file.path(), path);
    if (!why.empty()) findings.push_back({file.path(), i + 1, why});
  }
  return findings;
}

// Only examples, and the project that is built outside the tree, include as users do.
std::vector<Finding> includes_of_users(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_cpp() || is_below(file.path(), "examples") || is_below(file.path(), "tests/install"))
    return findings;
  for (std::size_t i = 0; i < file.lines().size(); ++i)
    if (trimmed(file.lines()[i]).substr(0, 18) == "#include <simmesh/")
      findings.push_back({file.path(), i + 1, "expected the path from the root, in quotes"});
  return findings;
}

// A file's own folder is a room: were a folder above it enough, a new subfolder would have no place
// in the order.
std::vector<Finding> unknown_folder(const SourceFile& file) {
  static const std::vector<std::string_view> outside = {"tests", "bench", "examples", "docs"};
  std::string_view folder = std::string_view(file.path()).substr(0, file.path().rfind('/'));
  bool known = house_folder(file.path()) == folder || file.path() == "simmesh.h";
  for (std::string_view outer : outside) known = known || is_below(file.path(), outer);
  if (!file.is_cpp() || known) return {};
  return {{file.path(), 0, "its folder has no row in tests/tidy/house.h"}};
}

TEST(IncludeOrder, HoldsInTheTree) { EXPECT_TRUE(holds_in_tree(wrong_includes)); }

TEST(IncludeOrder, OnlyUsersIncludeByTheProjectsName) {
  EXPECT_TRUE(holds_in_tree(includes_of_users));
}

TEST(IncludeOrder, EveryFolderHasARow) { EXPECT_TRUE(holds_in_tree(unknown_folder)); }

TEST(IncludeOrder, FiresWhereALowerFolderIncludesAHigherOne) {
  SourceFile bad("core/check/error.h", "#include \"core/engine/world.h\"\n");
  EXPECT_THAT(wrong_includes(bad), SizeIs(1));
  EXPECT_THAT(wrong_includes({"mesh/layout.h", "#include \"gate/gate.h\"\n"}), SizeIs(1));
  SourceFile room("sharding/placement/placement.h", "#include \"sharding/api/dtensor_clip.h\"\n");
  EXPECT_THAT(wrong_includes(room), SizeIs(1));
}

TEST(IncludeOrder, FiresBetweenNeighbours) {
  EXPECT_THAT(wrong_includes({"zero/engine/stage.h", "#include \"fsdp/shard.h\"\n"}), SizeIs(1));
  SourceFile above("fsdp/fully_shard.h", "#include \"zero/config/config.h\"\n");
  EXPECT_THAT(wrong_includes(above), SizeIs(1));
}

TEST(IncludeOrder, FiresOnOtherPathsAndOnFoldersOutside) {
  EXPECT_THAT(wrong_includes({"mesh/layout.cpp", "#include \"layout.h\"\n"}), SizeIs(1));
  EXPECT_THAT(wrong_includes({"mesh/layout.h", "#include \"tests/x.h\"\n"}), SizeIs(1));
  EXPECT_THAT(wrong_includes({"mesh/layout.h", "#include \"simmesh.h\"\n"}), SizeIs(1));
  SourceFile user("mesh/layout.h", "#include <simmesh/core/check/check.h>\n");
  EXPECT_THAT(includes_of_users(user), SizeIs(1));
  EXPECT_THAT(unknown_folder({"sundry/thing.h", ""}), SizeIs(1));
  EXPECT_THAT(unknown_folder({"mesh/sundry/thing.h", ""}), SizeIs(1));
}

TEST(IncludeOrder, AllowsDownwardsAndOneself) {
  SourceFile good("sharding/redistribute/plan.h",
                  "#include <vector>\n\n#include \"core/check/check.h\"\n"
                  "#include \"mesh/layout.h\"\n#include \"sharding/placement/placement.h\"\n");
  EXPECT_THAT(wrong_includes(good), IsEmpty());
  EXPECT_THAT(includes_of_users(good), IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
