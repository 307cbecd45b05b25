#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/comment_blocks.h"

// Comments are plain English: they begin with a verb or with the name that they describe, and use
// the field's words. CONTRIBUTING.md shows some that did not, and what they became.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

bool is_letter(char c) { return is_identifier_char(c) || c == '\''; }

// first_word returns the letters with which a text begins.
std::string_view first_word(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_letter(text[end])) ++end;
  return text.substr(0, end);
}

// has_word is true if a text has a word as a whole one.
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    std::size_t end = at + word.size();
    bool begins = at == 0 || !is_letter(text[at - 1]);
    if (begins && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

// is_question is true if the first sentence of a text ends with a question mark, as the question
// does that an example answers.
bool is_question(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (std::string_view(".?!").find(text[i]) != std::string_view::npos &&
        (i + 1 == text.size() || text[i + 1] == ' '))
      return text[i] == '?';
  return false;
}

std::vector<Finding> noun_clauses(const SourceFile& file) {
  std::vector<Finding> findings;
  for (const CommentBlock& block : comment_blocks(file)) {
    std::string_view word = first_word(block.text);
    bool is_clause = word == "What" || word == "Of" || word == "Whether" || word == "How";
    if (is_clause && !is_question(block.text))
      findings.push_back(
          {file.path(), block.line,
           fmt::format("begin with a verb ('Returns', 'True if') or with the noun, not with '{}'",
                       word)});
  }
  return findings;
}

std::vector<Finding> other_words(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_cpp()) return findings;
  for (const CommentBlock& block : comment_blocks(file))
    for (std::string_view word : {"Throws", "throws"})
      if (has_word(block.text, word))
        findings.push_back({file.path(), block.line,
                            fmt::format("say 'raises' instead of '{}', as Python does", word)});
  return findings;
}

struct Renamed {
  std::string_view old_name, name;
};
// The identifiers that PyTorch has another word for.
constexpr Renamed renamed[] = {{"element_count", "numel"}, {"is_pending", "is_partial"}};

std::vector<Finding> other_names(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_cpp() && !file.has_extension(".py")) return findings;
  for (std::size_t i = 0; i < file.code().size(); ++i)
    for (const Renamed& one : renamed)
      if (has_word(file.code()[i], one.old_name))
        findings.push_back({file.path(), i + 1,
                            fmt::format("'{}' is called '{}' in PyTorch", one.old_name, one.name)});
  return findings;
}

TEST(PlainEnglish, CommentsBeginWithAVerbOrANoun) { EXPECT_TRUE(holds_in_tree(noun_clauses)); }
TEST(PlainEnglish, ErrorsAreRaised) { EXPECT_TRUE(holds_in_tree(other_words)); }
TEST(PlainEnglish, NamesArePyTorchs) { EXPECT_TRUE(holds_in_tree(other_names)); }

TEST(PlainEnglish, FiresOnNounClauses) {
  for (std::string text :
       {"// What it was.\nint f();", "int x;  // Of the element.", "// Whether it is.",
        "int x = 1'000;  // How far it came.", "/* What one costs. */",
        "auto x = R\"(\n// text)\";\n// Whether it is, over\n// two lines.", "/// What it is."})
    EXPECT_THAT(noun_clauses({"mesh/a.cpp", text}), SizeIs(1)) << text;
  for (std::string path : {"a/a.py", "a/a.cmake", "a/CMakeLists.txt", "a/a.toml", "dev"})
    EXPECT_THAT(noun_clauses({path, "x = 1\n# What it is.\n"}), SizeIs(1)) << path;
  for (std::string text :
       {"\"\"\"What it is.\"\"\"", "def f():\n    \"\"\"Whether it is,\n    so.\"\"\"",
        "x = 'a'  # Of text.", "x = '''\n# text'''\n# How far.\n"})
    EXPECT_THAT(noun_clauses({"a/a.py", text}), SizeIs(1)) << text;
}

TEST(PlainEnglish, LeavesOtherCommentsAlone) {
  for (std::string text :
       {"// Returns what it was.", "// True if it is.", "// What does a hang look like?\nint x;",
        "// How many ranks fit, and\n// in which order? Prints both.", "// Whatever it is.",
        "// The number.\n// What follows is the same comment.", "auto x = \"// What\";",
        "auto x = R\"(\n// What\n)\";", "// Of2 is a name."})
    EXPECT_THAT(noun_clauses({"mesh/a.cpp", text}), IsEmpty()) << text;
  EXPECT_THAT(noun_clauses({"a/a.py", "x = f(\n    \"\"\"What it is.\"\"\")\ny = '# What'\n"}),
              IsEmpty());
  EXPECT_THAT(noun_clauses({"a/a.cmake", "message(\"# What\")\n"}), IsEmpty());
  EXPECT_THAT(noun_clauses({"docs/a.md", "# What it is\n"}), IsEmpty());
}

TEST(PlainEnglish, FiresOnThrows) {
  EXPECT_THAT(other_words({"mesh/a.h", "// f is one. Throws a ValueError."}), SizeIs(1));
  EXPECT_THAT(other_words({"mesh/a.h", "int f();  // throws\n"}), SizeIs(1));
  EXPECT_THAT(other_words({"mesh/a.h", "// f raises what was thrown.\nint throws;"}), IsEmpty());
}

TEST(PlainEnglish, FiresOnOtherNames) {
  for (const Renamed& one : renamed) {
    std::string name(one.old_name);
    EXPECT_THAT(other_names({"mesh/a.h", "int " + name + "();"}), SizeIs(1));
    EXPECT_THAT(other_names({"a/a.py", "x." + name + "\n"}), SizeIs(1));
    EXPECT_THAT(other_names({"mesh/a.h", fmt::format("int my_{0}; // {0}", name)}), IsEmpty());
  }
}

}  // namespace
}  // namespace simmesh::tidy
