#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <simmesh/tests/tidy/house.h>
#include <simmesh/tests/tidy/source_tree.h>

// Folders include downwards only. Without this rule the house grows cycles, and no layer can be
// understood, tested or replaced alone.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// included_path returns what stands between the brackets or quotes of an include, empty for any
// other line.
std::string_view included_path(std::string_view line) {
  line = trimmed(line);
  if (line.substr(0, 8) != "#include") return {};
  line = trimmed(line.substr(8));
  return line.size() > 2 ? line.substr(1, line.size() - 2) : std::string_view();
}

std::string why_not_included(std::string_view includer, std::string_view included) {
  if (included == "simmesh.h") return "simmesh.h is for users, not for the libraries";
  std::optional<std::size_t> to = house_row(included);
  if (!to) return fmt::format("{} lies outside the house", included);
  std::size_t from = *house_row(includer);
  if (*to < from || house_folder(included) == house_folder(includer)) return {};
  return fmt::format("{} may not include from {}", house_folder(includer), house_folder(included));
}

std::vector<Finding> wrong_includes(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_cpp() || !house_row(file.path())) return findings;
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    std::string_view path = included_path(file.lines()[i]);
    if (path.empty()) continue;
    if (file.lines()[i].find('"') != std::string::npos)
      findings.push_back({file.path(), i + 1, "expected <simmesh/...>, got quotes"});
    if (path.substr(0, 8) != "simmesh/") continue;
    std::string why = why_not_included(file.path(), path.substr(8));
    if (!why.empty()) findings.push_back({file.path(), i + 1, why});
  }
  return findings;
}

std::vector<Finding> unknown_folder(const SourceFile& file) {
  static const std::vector<std::string_view> outside = {"tests", "bench", "examples", "docs"};
  bool known = house_row(file.path()) || file.path() == "simmesh.h";
  for (std::string_view folder : outside) known = known || is_below(file.path(), folder);
  if (!file.is_cpp() || known) return {};
  return {{file.path(), 0, "its folder has no row in tests/tidy/house.h"}};
}

TEST(IncludeOrder, HoldsInTheTree) { EXPECT_TRUE(holds_in_tree(wrong_includes)); }

TEST(IncludeOrder, EveryFolderHasARow) { EXPECT_TRUE(holds_in_tree(unknown_folder)); }

TEST(IncludeOrder, FiresWhereALowerFolderIncludesAHigherOne) {
  SourceFile bad("core/check/error.h", "#include <simmesh/core/engine/world.h>\n");
  EXPECT_THAT(wrong_includes(bad), SizeIs(1));
  EXPECT_THAT(wrong_includes({"mesh/layout.h", "#include <simmesh/gate/gate.h>\n"}), SizeIs(1));
}

TEST(IncludeOrder, FiresBetweenNeighbours) {
  EXPECT_THAT(wrong_includes({"zero/stage.h", "#include <simmesh/fsdp/shard.h>\n"}), SizeIs(1));
}

TEST(IncludeOrder, FiresOnQuotesAndOnFoldersOutside) {
  EXPECT_THAT(wrong_includes({"mesh/layout.cpp", "#include \"layout.h\"\n"}), SizeIs(1));
  EXPECT_THAT(wrong_includes({"mesh/layout.h", "#include <simmesh/tests/x.h>\n"}), SizeIs(1));
  EXPECT_THAT(wrong_includes({"mesh/layout.h", "#include <simmesh/simmesh.h>\n"}), SizeIs(1));
  EXPECT_THAT(unknown_folder({"sundry/thing.h", ""}), SizeIs(1));
}

TEST(IncludeOrder, AllowsDownwardsAndOneself) {
  SourceFile good("sharding/plan.h",
                  "#include <vector>\n\n#include <simmesh/core/check/check.h>\n"
                  "#include <simmesh/mesh/layout.h>\n#include <simmesh/sharding/placement.h>\n");
  EXPECT_THAT(wrong_includes(good), IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
