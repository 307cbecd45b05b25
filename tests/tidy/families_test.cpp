#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// The sources of a family of ops have the family's name in every tree: the kernels of
// core/ops/reductions/sums.cpp have their gradients in core/gradients/reductions/sums.cpp, their
// sharding rules in sharding/strategies/reductions/sums.cpp and their names in PyTorch in
// verify/pytorch/ops/reductions/sums.cpp. Without the rule an op has to be looked for in each tree.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view trees[] = {"core/gradients", "sharding/strategies",
                                      "verify/pytorch/ops"};

bool is_there(const std::string& path) {
  return std::filesystem::exists(std::filesystem::path(SIMMESH_SOURCE_DIR) / path);
}

std::vector<Finding> unknown_families(const SourceFile& file) {
  if (!file.has_extension(".cpp")) return {};
  std::string unit = file.path().substr(0, file.path().rfind('.'));
  for (std::string_view tree : trees) {
    if (!is_below(unit, tree)) continue;
    std::string family = unit.substr(tree.size() + 1);
    bool is_in_room = family.find('/') != family.npos;
    std::string ops = "core/ops/" + family;
    if (!is_in_room || is_there(unit + ".h") || is_there(ops + ".h") || is_there(ops + ".cpp"))
      continue;
    return {{file.path(), 0, fmt::format("expected the name of a family of ops: {}.h", ops)}};
  }
  return {};
}

TEST(Families, HaveOneNameInEveryTree) { EXPECT_TRUE(holds_in_tree(unknown_families)); }

TEST(Families, FireOnANameOfItsOwn) {
  EXPECT_THAT(unknown_families({"verify/pytorch/ops/reductions/ordering.cpp", ""}), SizeIs(1));
  EXPECT_THAT(unknown_families({"core/gradients/reductions/membership.cpp", ""}), IsEmpty());
  EXPECT_THAT(unknown_families({"core/gradients/spread.cpp", ""}), IsEmpty());
  EXPECT_THAT(unknown_families({"verify/pytorch/ops/python_call.cpp", ""}), IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
