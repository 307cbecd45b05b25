#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "tests/temporary_folder.h"
#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// Examples in the comments of headers compile. An example is a block of lines with three blanks
// after the slashes whose last line ends like code. Names that examples use without declaring them
// are declared in tests/docs/header_example_context.h.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Example {
  std::string header;
  std::size_t line = 0;
  std::vector<std::string> code;
};

// Returns the text of a line of an example; nullopt for any other line.
std::optional<std::string> example_line(const std::string& line) {
  std::string_view text = trimmed(line);
  if (text.substr(0, 5) != "//   ") return std::nullopt;
  return std::string(text.substr(5));
}

std::string_view without_comment(std::string_view line) {
  return trimmed(line.substr(0, line.find("  //")));
}

bool is_code(const std::vector<std::string>& lines) {
  std::string_view last = without_comment(lines.back());
  return !last.empty() && (last.back() == ';' || last.back() == '}');
}

std::vector<Example> examples_of(const SourceFile& file) {
  std::vector<Example> examples;
  if (!file.is_header() || !is_library(file.path())) return examples;
  const auto& lines = file.lines();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Example example{file.path(), i + 1, {}};
    for (; i < lines.size() && example_line(lines[i]); ++i)
      example.code.push_back(*example_line(lines[i]));
    if (!example.code.empty() && is_code(example.code)) examples.push_back(std::move(example));
  }
  return examples;
}

// Each example becomes a function of its own, unless it defines something at namespace scope.
std::string source_of(const std::vector<Example>& examples) {
  std::set<std::string> headers;
  for (const Example& example : examples) headers.insert(example.header);
  std::string source;
  for (const std::string& header : headers) source += fmt::format("#include \"{}\"\n", header);
  source += "#include \"tests/docs/header_example_context.h\"\n";
  std::size_t number = 0;
  for (const Example& example : examples) {
    bool is_definition = example.code.front().substr(0, 7) == "inline ";
    source += fmt::format("namespace simmesh::examples::number_{} {{\n", number++);
    if (!is_definition) source += "void example() {\n";
    source += fmt::format("#line {} \"{}\"\n", example.line, example.header);
    for (const std::string& line : example.code) source += line + "\n";
    source += is_definition ? "}\n" : "}\n}\n";
  }
  return source;
}

// Returns what the compiler says about the examples; empty if they compile.
std::string complaints_of(const std::vector<Example>& examples) {
  testing::TemporaryFolder folder;
  std::string file = folder.write("examples.cpp", source_of(examples));
  std::string log = (folder.path() / "log").string();
  std::string command =
      fmt::format("{} -std=c++20 -fsyntax-only -w -I '{}' -isystem '{}' '{}' > '{}' 2>&1",
                  SIMMESH_COMPILER, SIMMESH_SOURCE_DIR, SIMMESH_EIGEN, file, log);
  int status = std::system(command.c_str());
  std::string text = folder.read("log");
  return status == 0 || !text.empty() ? text : fmt::format("status {}", status);
}

TEST(HeaderExamples, Compile) {
  std::vector<Example> examples;
  for (const SourceFile& file : source_tree())
    for (Example& example : examples_of(file)) examples.push_back(std::move(example));
  EXPECT_GT(examples.size(), 25u);
  std::string complaints = complaints_of(examples);
  EXPECT_TRUE(complaints.empty()) << complaints;
}

TEST(HeaderExamples, FireOnWhatDoesNotExist) {
  Example good{"mesh/layout.h", 1, {"Layout line({{2, 4}, {4, 1}});"}};
  EXPECT_THAT(complaints_of({good}), IsEmpty());
  Example bad{"mesh/layout.h", 7, {"Layout::nonsense();"}};
  EXPECT_THAT(complaints_of({bad}), ::testing::HasSubstr("mesh/layout.h:7"));
}

TEST(HeaderExamples, AreIndentedCode) {
  SourceFile header("mesh/a.h",
                    "// Text.\n//\n//   f(1);   // one\n//   g();\n//\n// More.\n"
                    "//   name   a table\n");
  std::vector<Example> examples = examples_of(header);
  ASSERT_THAT(examples, SizeIs(1));
  EXPECT_EQ(examples[0].line, 3u);
  EXPECT_THAT(examples[0].code, SizeIs(2));
}

}  // namespace
}  // namespace simmesh::tidy
