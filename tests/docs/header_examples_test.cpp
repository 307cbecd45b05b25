#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/docs/example.h"
#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// Examples in the comments of headers compile. An example is a block of lines with three blanks
// after the slashes whose last line ends like code. Names that examples use without declaring them
// are declared in tests/docs/example_context.h and tests/docs/header_context.h.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

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

TEST(HeaderExamples, Compile) {
  std::vector<Example> examples;
  for (const SourceFile& file : source_tree())
    for (Example& example : examples_of(file)) examples.push_back(std::move(example));
  EXPECT_GT(examples.size(), 25u);
  std::string errors = header_errors(examples);
  EXPECT_TRUE(errors.empty()) << errors;
}

TEST(HeaderExamples, FireOnWhatDoesNotExist) {
  Example good{"mesh/layout.h", 1, {"Layout line({{2, 4}, {4, 1}});"}};
  EXPECT_THAT(header_errors({good}), IsEmpty());
  Example bad{"mesh/layout.h", 7, {"Layout::nonsense();"}};
  EXPECT_THAT(header_errors({bad}), ::testing::HasSubstr("mesh/layout.h:7"));
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
