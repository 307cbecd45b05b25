#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/docs/example.h"
#include "tests/tidy/source_tree.h"

// Examples in pages compile with the public headers. An example is a fenced block of C++; if it has
// a main function, it is a whole program with includes of its own.
namespace simmesh::tidy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Example> blocks_of(const SourceFile& page) {
  std::vector<Example> blocks;
  bool is_inside = false;
  for (std::size_t i = 0; i < page.lines().size(); ++i) {
    const std::string& line = page.lines()[i];
    if (line.substr(0, 3) == "```") {
      is_inside = line == "```cpp";
      if (is_inside) blocks.push_back({page.path(), i + 2, {}});
    } else if (is_inside) {
      blocks.back().code.push_back(line);
    }
  }
  return blocks;
}

bool is_program(const Example& example) {
  return std::any_of(example.code.begin(), example.code.end(),
                     [](const std::string& line) { return line.substr(0, 9) == "int main("; });
}

TEST(PageExamples, Compile) {
  std::vector<Example> examples;
  std::size_t programs = 0;
  for (const SourceFile& file : source_tree()) {
    if (!file.has_extension(".md")) continue;
    for (Example& block : blocks_of(file)) {
      if (is_program(block)) {
        ++programs;
        EXPECT_THAT(program_errors(block), IsEmpty());
      } else {
        examples.push_back(std::move(block));
      }
    }
  }
  EXPECT_GE(programs, 1u);
  EXPECT_GE(examples.size(), 3u);
  EXPECT_THAT(page_errors(examples), IsEmpty());
}

TEST(PageExamples, FireOnWhatDoesNotExist) {
  EXPECT_THAT(page_errors({{"docs/a.md", 7, {"model.nonsense();"}}}), HasSubstr("docs/a.md:7"));
  Example inside{"docs/a.md", 7, {"this_rank().run().touch_within(this_rank(), 0);"}};
  EXPECT_THAT(page_errors({inside}), HasSubstr("docs/a.md:7")) << "of an internal header";
  Example program{"a.md", 3, {"#include <simmesh/no_such_header.h>", "int main() {}"}};
  EXPECT_THAT(program_errors(program), HasSubstr("a.md:3"));
}

TEST(PageExamples, AreFencedBlocksOfCpp) {
  std::vector<Example> blocks =
      blocks_of({"docs/a.md", "```\nno\n```\n```cpp\nf();\n\ng();\n```\ntext\n"});
  ASSERT_THAT(blocks, SizeIs(1));
  EXPECT_EQ(blocks[0].line, 5u);
  EXPECT_THAT(blocks[0].code, SizeIs(3));
  EXPECT_FALSE(is_program(blocks[0]));
}

}  // namespace
}  // namespace simmesh::tidy
