#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "tests/tidy/declarations.h"
#include "tests/tidy/house.h"

// A unit is a source with its header, or a header alone that has a function of more than one line;
// other headers hold data. Each unit has a test, which is one of these:
//   - its own: tests/x/y_test.cpp for x/y.cpp, test_y.py for python/bindings/bind_y.cpp;
//   - one that includes its header and names something that the header declares;
//   - for a source without a header of its own, those of a unit whose declarations it implements;
//   - one that goes over all units of its kind, since each of them is in a registry.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Names = std::set<std::string, std::less<>>;

// OneForAll is a test that goes over all units whose path begins with `where`.
struct OneForAll {
  std::string_view where;
  std::string_view test;
};
constexpr OneForAll one_for_all[] = {
    // Every gradient of every op, on every sample of the op.
    {"core/gradients/", "tests/core/gradients/every_gradient_test.cpp"},
    // Every op's rules, on every placement.
    {"sharding/strategies/", "tests/sharding/validate/validate_test.cpp"},
    {"core/samples/", "tests/core/samples/samples_of_test.cpp"},
    // Each kernel is compiled for each instruction set, in sources that no test can include.
    {"core/kernels/", "tests/core/arithmetic/self_check_test.cpp"},
    // Every field of the cases of every kind is changed, which must fail.
    {"verify/checkpoint/", "tests/verify/falsify/mutants_test.cpp"},
    {"verify/fsdp/", "tests/verify/falsify/mutants_test.cpp"},
    {"verify/paddle/", "tests/verify/falsify/mutants_test.cpp"},
    {"verify/pytorch/", "tests/verify/falsify/mutants_test.cpp"},
    {"verify/replay/", "tests/verify/falsify/mutants_test.cpp"},
    {"verify/zero/", "tests/verify/falsify/mutants_test.cpp"},
    // Every function of PyTorch that a recorded case calls is known.
    {"verify/pytorch/ops/", "tests/verify/pytorch/ops/python_functions_test.cpp"},
    // The sources of the one module that the tests of Python import.
    {"python/bindings/bind_operations.cpp", "tests/python/test_torch_collectives.py"},
    {"python/bindings/bind_ranks.cpp", "tests/python/test_world.py"},
    {"python/bindings/", "tests/python/test_command.py"},
};

// Sources that bind a part of the API; each has a test in Python.
constexpr std::string_view binding = "python/bindings/bind_";

// untestable lists units that have no test, and why.
const std::map<std::string, std::string_view, std::less<>> untestable = {
    {"core/engine/fibers/ended_fibers",
     "does nothing but under the thread sanitizer, under which ./dev sanitize runs every test"},
};

bool exists(std::string_view path) {
  return std::filesystem::exists(std::filesystem::path(SIMMESH_SOURCE_DIR) / path);
}

std::string stem_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

std::string own_test(const std::string& unit) {
  if (unit.starts_with(binding))
    return fmt::format("tests/python/test_{}.py", unit.substr(binding.size()));
  return fmt::format("tests/{}_test.cpp", unit);
}

bool is_of_all(const SourceFile& file) {
  bool is_binding = file.path().starts_with(binding);
  for (const OneForAll& one : one_for_all) {
    bool covers = file.path().starts_with(one.where);
    if (covers && (!is_binding || one.where.starts_with(binding))) return true;
  }
  return false;
}

// Returns the name that a declaration at namespace scope gives; for a member's definition that of
// its class.
std::string name_of(const Declaration& declaration) {
  std::string_view head = without_template(declaration.head);
  if (is_function_head(head)) {
    std::string name = qualified_name(head);
    return name.substr(0, name.find("::"));
  }
  if (head.starts_with("using ")) head.remove_prefix(6);
  head = trimmed(head.substr(0, head.find_first_of("={[:;")));
  if (head.ends_with(" final")) head = trimmed(head.substr(0, head.size() - 6));
  std::size_t begin = head.size();
  while (begin > 0 && is_identifier_char(head[begin - 1])) --begin;
  return std::string(head.substr(begin));
}

Names names_declared(const SourceFile& file) {
  Names names;
  for (const Declaration& declaration : declarations(file))
    if (!declaration.in_type && declaration.kind != DeclarationKind::name_space)
      names.insert(name_of(declaration));
  names.erase("");
  return names;
}

Names words_of(const SourceFile& file) {
  Names words;
  for (const std::string& line : file.code())
    for (std::size_t begin = 0; begin < line.size(); ++begin) {
      std::size_t end = begin;
      while (end < line.size() && is_identifier_char(line[end])) ++end;
      if (end > begin) words.insert(line.substr(begin, end - begin));
      begin = end;
    }
  return words;
}

// Headers that tests include, with the names that these headers declare and the tests use.
class TestedHeaders {
 public:
  explicit TestedHeaders(const std::vector<SourceFile>& files) {
    for (const SourceFile& file : files)
      if (file.is_header()) declared_[file.path()] = names_declared(file);
    for (const SourceFile& file : files) {
      if (!file.is_cpp() || !is_below(file.path(), "tests")) continue;
      Names words = words_of(file);
      for (const std::string& line : file.lines()) {
        std::string path(quoted_include(line));
        if (shares(declared(path), words)) tested_.insert(path);
      }
    }
  }

  const Names& declared(const std::string& header) const {
    static const Names none;
    auto found = declared_.find(header);
    return found == declared_.end() ? none : found->second;
  }

  bool is_tested(const std::string& header) const {
    return tested_.contains(header) || exists(own_test(stem_of(header)));
  }

  static bool shares(const Names& a, const Names& b) {
    for (const std::string& name : a)
      if (b.contains(name)) return true;
    return false;
  }

 private:
  std::map<std::string, Names> declared_;
  Names tested_;
};

const TestedHeaders& tested_headers() {
  static const TestedHeaders headers(source_tree());
  return headers;
}

bool has_long_function(const SourceFile& file) {
  for (const Declaration& declaration : declarations(file))
    if (declaration.kind == DeclarationKind::function &&
        declaration.last_line > declaration.first_line)
      return true;
  return false;
}

// Returns true if a source implements what a tested header that it includes declares.
bool implements_what_is_tested(const SourceFile& file) {
  Names defined;
  for (const Declaration& declaration : declarations(file))
    if (declaration.kind == DeclarationKind::function && !declaration.in_type)
      defined.insert(name_of(declaration));
  for (const std::string& line : file.lines()) {
    std::string header(quoted_include(line));
    if (tested_headers().is_tested(header) &&
        TestedHeaders::shares(tested_headers().declared(header), defined))
      return true;
  }
  return false;
}

std::vector<Finding> untested(const SourceFile& file) {
  if (!file.is_cpp() || !house_row(file.path())) return {};
  std::string unit = stem_of(file.path());
  if (file.is_header() && (exists(unit + ".cpp") || !has_long_function(file))) return {};
  bool is_tested = exists(own_test(unit)) || is_of_all(file) ||
                   tested_headers().is_tested(unit + ".h") ||
                   (!exists(unit + ".h") && implements_what_is_tested(file));
  bool is_listed = untestable.contains(unit);
  if (is_tested && is_listed) return {{file.path(), 0, "untestable lists a unit with a test"}};
  if (is_tested || is_listed) return {};
  return {{file.path(), 0,
           fmt::format("expected a test in {}, or one that includes its header and names what that "
                       "declares",
                       own_test(unit))}};
}

TEST(TestedUnits, EachHasATest) { EXPECT_TRUE(holds_in_tree(untested)); }

TEST(TestedUnits, TheTablesHoldNothingStale) {
  for (const auto& [unit, why] : untestable) EXPECT_TRUE(exists(unit + ".cpp")) << unit;

  for (const OneForAll& one : one_for_all) EXPECT_TRUE(exists(one.test)) << one.test;
}

TEST(TestedUnits, FireOnASourceWithoutATest) {
  EXPECT_THAT(untested({"mesh/no_such_unit.cpp", ""}), SizeIs(1));
  EXPECT_THAT(untested({"core/gradients/reductions/no_such_unit.cpp", ""}), IsEmpty());
}

TEST(TestedUnits, FireOnAHeaderWithLongFunctionsOnly) {
  EXPECT_THAT(untested({"mesh/no_such_unit.h", "inline int f() {\n  return 1;\n}\n"}), SizeIs(1));
  EXPECT_THAT(untested({"mesh/no_such_unit.h", "struct A {\n  int f() { return 1; }\n};\n"}),
              IsEmpty());
}

// An include that nothing is used of would say that a unit is tested, and test nothing.
TEST(TestedUnits, AnIncludeAloneIsNoTest) {
  SourceFile header("mesh/a.h", "class A final : public B {\n};\nint f(int x);\nusing C = int;\n");
  EXPECT_THAT(names_declared(header), ::testing::UnorderedElementsAre("A", "f", "C"));
  auto is_tested_by = [&](const char* text) {
    return TestedHeaders({header, {"tests/mesh/b_test.cpp", text}}).is_tested("mesh/a.h");
  };
  EXPECT_TRUE(is_tested_by("#include \"mesh/a.h\"\nint x = f(1);\n"));
  EXPECT_FALSE(is_tested_by("#include \"mesh/a.h\"\nint x = g(1);\n"));
  EXPECT_FALSE(is_tested_by("#include \"mesh/a.h\"\n// f\n"));
  EXPECT_FALSE(is_tested_by("int x = f(1);\n"));
}

// Sources without a header of their own are parts of a class or of a set of functions.
TEST(TestedUnits, ASourceIsPartOfWhatItImplements) {
  std::string include = "#include \"mesh/layout.h\"\n";
  EXPECT_TRUE(implements_what_is_tested({"mesh/x.cpp", include + "int Layout::f() {\n}\n"}));
  EXPECT_FALSE(implements_what_is_tested({"mesh/x.cpp", include + "int Other::f() {\n}\n"}));
  EXPECT_FALSE(implements_what_is_tested({"mesh/x.cpp", "int Layout::f() {\n}\n"}));
}

}  // namespace
}  // namespace simmesh::tidy
