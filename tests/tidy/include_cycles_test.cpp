#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// Includes form no cycle. A header and the source of the same name are one unit, and no unit
// includes itself through others, because the units of a cycle can only be understood together.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

using Units = std::map<std::string, std::set<std::string>>;  // unit -> the units that it includes

std::string unit_of(std::string_view path) { return std::string(path.substr(0, path.rfind('.'))); }

Units units_of(const std::vector<SourceFile>& files) {
  Units units;
  for (const SourceFile& file : files) {
    if (!file.is_cpp() || !house_row(file.path())) continue;
    std::string unit = unit_of(file.path());
    for (const std::string& line : file.lines())
      if (std::string_view path = quoted_include(line); !path.empty() && unit_of(path) != unit)
        units[unit].insert(unit_of(path));
  }
  return units;
}

// CircleSearch walks from unit to unit. A unit that is on the way to itself closes a cycle.
class CircleSearch {
 public:
  explicit CircleSearch(const Units& units) : units_(units) {
    for (const auto& [unit, included] : units_) visit(unit);
  }
  const std::vector<std::string>& circles() const { return circles_; }

 private:
  void visit(const std::string& unit) {
    if (auto met = std::find(way_.begin(), way_.end(), unit); met != way_.end()) {
      circles_.push_back(fmt::format("{} -> {}", fmt::join(met, way_.end(), " -> "), unit));
      return;
    }
    if (!done_.insert(unit).second) return;
    way_.push_back(unit);
    if (auto found = units_.find(unit); found != units_.end())
      for (const std::string& included : found->second) visit(included);
    way_.pop_back();
  }

  const Units& units_;
  std::vector<std::string> way_;
  std::set<std::string> done_;
  std::vector<std::string> circles_;
};

std::vector<std::string> circles_of(const std::vector<SourceFile>& files) {
  Units units = units_of(files);
  return CircleSearch(units).circles();
}

TEST(IncludeCycles, HoldInTheTree) { EXPECT_THAT(circles_of(source_tree()), IsEmpty()); }

TEST(IncludeCycles, FireOnAHeaderThatItsIncluderIncludes) {
  EXPECT_THAT(circles_of({{"mesh/a.h", "#include \"mesh/b.h\"\n"},
                          {"mesh/b.h", "#include \"mesh/c.h\"\n"},
                          {"mesh/c.h", "#include \"mesh/a.h\"\n"}}),
              SizeIs(1));
}

TEST(IncludeCycles, FireThroughASource) {
  EXPECT_THAT(circles_of({{"mesh/a.h", "#include \"mesh/b.h\"\n"},
                          {"mesh/b.cpp", "#include \"mesh/a.h\"\n"}}),
              SizeIs(1));
}

TEST(IncludeCycles, AllowTwoWaysToOneUnit) {
  EXPECT_THAT(circles_of({{"mesh/a.h", "#include \"mesh/b.h\"\n#include \"mesh/c.h\"\n"},
                          {"mesh/b.h", "#include \"mesh/c.h\"\n"},
                          {"mesh/c.cpp", "#include \"mesh/c.h\"\n"}}),
              IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
