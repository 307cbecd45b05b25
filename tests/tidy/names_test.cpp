#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/source_tree.h"

// A file is named after its concept, in lower_snake_case. A name such as "utils" is a drawer for
// anything, not a concept.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<std::string_view> drawers = {"util",   "utils",   "utility", "utilities",
                                               "common", "helper",  "helpers", "misc",
                                               "stuff",  "internal"};

bool is_snake_case(std::string_view name) {
  if (name.empty() || !std::islower(static_cast<unsigned char>(name.front()))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || std::islower(static_cast<unsigned char>(c)) ||
           std::isdigit(static_cast<unsigned char>(c));
  });
}

bool names_a_drawer(std::string_view name) {
  while (!name.empty()) {
    std::size_t end = std::min(name.find('_'), name.size());
    if (std::find(drawers.begin(), drawers.end(), name.substr(0, end)) != drawers.end())
      return true;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return false;
}

std::vector<Finding> wrong_names(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_cpp()) return findings;
  for (const auto& part : std::filesystem::path(file.path())) {
    std::string name = part.stem().string();
    if (!is_snake_case(name) || part.stem().has_extension())
      findings.push_back(
          {file.path(), 0, fmt::format("expected lower_snake_case, got '{}'", name)});
    if (names_a_drawer(name))
      findings.push_back({file.path(), 0, fmt::format("'{}' names a drawer, not a concept", name)});
  }
  return findings;
}

TEST(Names, AreConcepts) { EXPECT_TRUE(holds_in_tree(wrong_names)); }

TEST(Names, FiresOnOtherSpellings) {
  for (std::string path :
       {"mesh/DeviceMesh.h", "mesh/device-mesh.h", "mesh/a.b.h", "Mesh/layout.h"})
    EXPECT_FALSE(wrong_names({path, ""}).empty()) << path;
  EXPECT_THAT(wrong_names({"mesh/device_mesh_2.h", ""}), IsEmpty());
}

TEST(Names, FiresOnEveryDrawer) {
  for (std::string_view drawer : drawers) {
    EXPECT_THAT(wrong_names({fmt::format("mesh/{}.h", drawer), ""}), SizeIs(1));
    EXPECT_THAT(wrong_names({fmt::format("mesh/shape_{}.cpp", drawer), ""}), SizeIs(1));
    EXPECT_THAT(wrong_names({fmt::format("core/{}/shape.cpp", drawer), ""}), SizeIs(1));
  }
}

}  // namespace
}  // namespace simmesh::tidy
