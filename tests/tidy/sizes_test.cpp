#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/declarations.h"
#include "tests/tidy/house.h"

// A file holds one concept and a function fits on a screen. Without these rules files and functions
// only ever grow.
namespace simmesh::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t file_lines_max = 600;
constexpr std::size_t example_lines_max = 80;
constexpr std::size_t function_lines_max = 70;
constexpr std::size_t line_columns_max = 100;

std::vector<Finding> long_files(const SourceFile& file) {
  std::size_t limit = is_below(file.path(), "examples") ? example_lines_max : file_lines_max;
  if (!file.is_cpp() || file.lines().size() <= limit) return {};
  return {
      {file.path(), 0, fmt::format("{} lines, expected at most {}", file.lines().size(), limit)}};
}

std::vector<Finding> long_functions(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_cpp()) return findings;
  for (const Declaration& declaration : declarations(file)) {
    std::size_t count = declaration.last_line - declaration.first_line + 1;
    if (declaration.kind != DeclarationKind::function || count <= function_lines_max) continue;
    findings.push_back({file.path(), declaration.first_line,
                        fmt::format("a function of {} lines, expected at most {}: {}", count,
                                    function_lines_max, declaration.head)});
  }
  return findings;
}

// column_count counts characters, not bytes of UTF-8.
std::size_t column_count(std::string_view line) {
  std::size_t count = 0;
  for (char c : line) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

std::vector<Finding> long_lines(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_cpp()) return findings;
  for (std::size_t i = 0; i < file.lines().size(); ++i)
    if (std::size_t columns = column_count(file.lines()[i]); columns > line_columns_max)
      findings.push_back(
          {file.path(), i + 1,
           fmt::format("{} columns, expected at most {}", columns, line_columns_max)});
  return findings;
}

std::vector<Finding> examples_without_text(const SourceFile& file) {
  if (!is_below(file.path(), "examples") || !file.has_extension(".cpp")) return {};
  std::filesystem::path text = std::filesystem::path(SIMMESH_SOURCE_DIR) / file.path();
  text.replace_extension(".txt");
  if (std::filesystem::exists(text)) return {};
  return {{file.path(), 0, "expected the text that it prints in a .txt file beside it"}};
}

std::string repeated(std::string_view line, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += line;
  return text;
}

TEST(Sizes, FilesAreShort) { EXPECT_TRUE(holds_in_tree(long_files)); }
TEST(Sizes, FunctionsFitOnAScreen) { EXPECT_TRUE(holds_in_tree(long_functions)); }
TEST(Sizes, LinesFitIntoTheColumns) { EXPECT_TRUE(holds_in_tree(long_lines)); }

TEST(Sizes, ExamplesHaveTheTextTheyPrint) { EXPECT_TRUE(holds_in_tree(examples_without_text)); }

TEST(Sizes, FiresOnALongFile) {
  EXPECT_THAT(long_files({"mesh/a.h", repeated("\n", 601)}), SizeIs(1));
  EXPECT_THAT(long_files({"mesh/a.h", repeated("\n", 600)}), IsEmpty());
  EXPECT_THAT(long_files({"examples/a.cpp", repeated("\n", 81)}), SizeIs(1));
}

TEST(Sizes, FiresOnALongFunctionWhereverItStands) {
  std::string body = repeated("  step();\n", 69) + "}\n";  // 71 lines with its first one
  const std::string fits = repeated("  step();\n", 68) + "}\n";
  for (std::string head :
       {"void f(int x) {\n", "Type::Type(int x) : a_{x}, b_(1) {\n", "auto f() -> Type {\n",
        "namespace n {\nstruct T {\n  int a{1};\n  void f() const {\n", "auto f = [](int) {\n",
        "#define BRACE {\nTEST(A, B) {\n", "template <class T = int>\nvoid f() {\n"}) {
    EXPECT_THAT(long_functions({"mesh/a.cpp", head + body}), SizeIs(1)) << head;
  }
  EXPECT_THAT(long_functions({"mesh/a.cpp", "void f(int x) {\n" + fits}), IsEmpty());
}

TEST(Sizes, CountsEachFunctionByItself) {
  std::string body = repeated("  if (x) { y('}'); }  // {\n", 40) + "}\n";
  std::string text = "int a[] = {1, 2};\nclass T {\n void f() {\n" + body + " void g() {\n" + body;
  EXPECT_THAT(long_functions({"mesh/a.cpp", text + "};\n"}), IsEmpty());
}

TEST(Sizes, NamesTheLineWhereTheFunctionBegins) {
  std::string text = "int x;\n\nvoid f() {\n" + repeated("  step();\n", 70) + "}\n";
  EXPECT_THAT(long_functions({"mesh/a.cpp", text}), ElementsAre(Field(&Finding::line, 3)));
}

TEST(Sizes, FiresOnALongLine) {
  EXPECT_THAT(long_lines({"mesh/a.h", std::string(101, 'x')}), SizeIs(1));
  EXPECT_THAT(long_lines({"mesh/a.h", repeated("\xC3\xA9", 100)}), IsEmpty());
}

TEST(Sizes, FiresOnAnExampleWithoutText) {
  EXPECT_THAT(examples_without_text({"examples/no_such_example.cpp", ""}), SizeIs(1));
}

}  // namespace
}  // namespace simmesh::tidy
