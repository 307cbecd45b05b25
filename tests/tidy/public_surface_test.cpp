#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/house.h"
#include "tests/tidy/public_headers.h"

// Programs include public headers only: simmesh.h, what it includes, and the headers that
// cmake/public_headers.cmake lists. Without these rules pages and examples teach paths that aren't
// installed, and a file can't move without breaking somebody's program.
namespace simmesh::tidy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

// Returns the path behind the prefix of users in a line that includes it, empty for other lines.
std::string_view users_include(std::string_view line) {
  constexpr std::string_view include = "#include <simmesh/";
  line = trimmed(line);
  if (line.substr(0, include.size()) != include) return {};
  line.remove_prefix(include.size());
  return line.substr(0, line.find('>'));
}

// True for files that show users what to include. Tests of the pages include what must not be.
bool is_for_users(const SourceFile& file) {
  bool is_page = file.has_extension(".md");
  return is_page || is_below(file.path(), "examples") || is_below(file.path(), "tests/install");
}

std::vector<Finding> unlisted_for_users(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!is_for_users(file)) return findings;
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    std::string_view path = users_include(file.lines()[i]);
    if (path.empty() || public_headers().count(path) > 0) continue;
    findings.push_back({file.path(), i + 1,
                        fmt::format("expected a header of cmake/public_headers.cmake or simmesh.h, "
                                    "got {}",
                                    path)});
  }
  return findings;
}

std::vector<Finding> unlisted_for_python(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!is_below(file.path(), "python/bindings")) return findings;
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    std::string_view path = quoted_include(file.lines()[i]);
    if (path.empty() || is_below(path, "python/bindings")) continue;
    if (public_headers().count(path) + bound_headers().count(path) > 0) continue;
    findings.push_back(
        {file.path(), i + 1,
         fmt::format("expected a header that cmake/public_headers.cmake lists, got {}", path)});
  }
  return findings;
}

// Returns what is wrong with a list of headers: one that isn't in the tree or comes twice, and one
// that `elsewhere` has too.
std::vector<std::string> wrong_entries(const std::vector<std::string>& headers,
                                       const Paths& elsewhere) {
  std::vector<std::string> found;
  Paths seen;
  for (const std::string& header : headers) {
    if (find_file(header) == nullptr) found.push_back(header + " isn't in the tree");
    if (!seen.insert(header).second) found.push_back(header + " is listed twice");
    if (elsewhere.count(header) > 0) found.push_back(header + " is public without it");
  }
  return found;
}

// Rooms of which no program should see anything: what they do shows elsewhere.
const std::vector<std::string_view> inner_rooms = {"core/engine/fibers",
                                                   "core/engine/seats",
                                                   "core/kernels",
                                                   "core/arithmetic/sums",
                                                   "core/arithmetic/products",
                                                   "core/gradients",
                                                   "sharding/propagation",
                                                   "fsdp/param_group",
                                                   "zero/stage12",
                                                   "checkpoint/torch_file",
                                                   "verify/pytorch"};

Paths of_inner_rooms(const Paths& headers) {
  Paths found;
  for (const std::string& header : headers)
    for (std::string_view room : inner_rooms)
      if (is_below(header, room)) found.insert(header);
  return found;
}

Paths included_by_python() {
  Paths included;
  for (const SourceFile& file : source_tree())
    if (is_below(file.path(), "python/bindings"))
      for (const std::string& line : file.lines()) included.emplace(quoted_include(line));
  return included;
}

Paths included_by(std::string_view path) {
  Paths included;
  for (const std::string& line : find_file(path)->lines()) included.emplace(quoted_include(line));
  return included;
}

std::vector<std::string> list_in_tree(std::string_view name) {
  return listed_headers(*find_file("cmake/public_headers.cmake"), name);
}

TEST(PublicHeaders, AreAllThatUsersAreShown) { EXPECT_TRUE(holds_in_tree(unlisted_for_users)); }

TEST(PublicHeaders, FireOnOtherHeadersThatUsersAreShown) {
  std::string inside = "#include <simmesh/core/engine/run/run.h>\n";
  EXPECT_THAT(unlisted_for_users({"examples/a.cpp", inside}), SizeIs(1));
  EXPECT_THAT(
      unlisted_for_users({"tests/install/fixture/a.cpp", "#include <fmt/core.h>\n" + inside}),
      SizeIs(1));
  EXPECT_THAT(unlisted_for_users({"docs/a.md", "```cpp\n" + inside + "```\n"}), SizeIs(1));
  SourceFile good("examples/a.cpp",
                  "#include <simmesh/simmesh.h>\n#include <simmesh/mesh/device_mesh.h>\n"
                  "#include <simmesh/testing/gtest.h>\n");
  EXPECT_THAT(unlisted_for_users(good), IsEmpty());
}

// The module could bind anything, so what it binds beside the public headers is said.
TEST(PublicHeaders, AndTheBoundOnesAreAllThatPythonIncludes) {
  EXPECT_TRUE(holds_in_tree(unlisted_for_python));
  EXPECT_THAT(included_by_python(), IsSupersetOf(bound_headers()));
}

TEST(PublicHeaders, FireOnOtherHeadersThatPythonIncludes) {
  SourceFile bad("python/bindings/a.cpp", "#include \"collectives/exchange.h\"\n");
  EXPECT_THAT(unlisted_for_python(bad), SizeIs(1));
  SourceFile good("python/bindings/a.cpp",
                  "#include \"python/bindings/bindings.h\"\n#include \"mesh/device_mesh.h\"\n"
                  "#include \"core/engine/run/run.h\"\n");
  EXPECT_THAT(unlisted_for_python(good), IsEmpty());
}

TEST(PublicHeaders, AreInTheTreeAndListedOnce) {
  EXPECT_THAT(wrong_entries(list_in_tree("simmesh_public_headers"), included_by("simmesh.h")),
              IsEmpty());
  EXPECT_THAT(wrong_entries(list_in_tree("simmesh_bound_headers"), public_headers()), IsEmpty());
}

TEST(PublicHeaders, FireOnEntriesThatAreMissingOrListedTwice) {
  EXPECT_THAT(wrong_entries({"mesh/no_such_header.h"}, {}), SizeIs(1));
  EXPECT_THAT(wrong_entries({"mesh/layout.h", "mesh/layout.h"}, {}), SizeIs(1));
  EXPECT_THAT(wrong_entries({"mesh/layout.h"}, {"mesh/layout.h"}), SizeIs(1));
}

TEST(PublicHeaders, AreReadFromTheirList) {
  SourceFile file("a.cmake",
                  "set(other\n  a.h)\nset(wanted\n  # why\n  b.h\n\n  c.h)\nset(d e.h)\n");
  EXPECT_THAT(listed_headers(file, "wanted"), ElementsAre("b.h", "c.h"));
  EXPECT_THAT(listed_headers(file, "other"), ElementsAre("a.h"));
  EXPECT_THAT(list_in_tree("simmesh_public_headers"), Contains("testing/gtest.h"));
}

// Headers that public headers include are installed with them, so programs see them.
TEST(PublicHeaders, BringAlongNothingOfInnerRooms) {
  EXPECT_THAT(of_inner_rooms(with_included(public_headers())), IsEmpty());
}

TEST(PublicHeaders, FireOnWhatBringsAlongAnInnerRoom) {
  EXPECT_THAT(of_inner_rooms(with_included({"core/engine/run/run.h"})),
              Contains("core/engine/seats/seat.h"));
}

}  // namespace
}  // namespace simmesh::tidy
