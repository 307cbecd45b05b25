#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "tests/tidy/declarations.h"
#include "tests/tidy/house.h"

// A header reads as documentation: everything that it declares at namespace scope has a comment.
// Functions that follow one another without a blank line share a comment, and so do overloads.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

bool is_public_scope(const Declaration& declaration) {
  if (declaration.in_type || declaration.scopes.empty()) return false;
  if (declaration.scopes.front().find("simmesh") == std::string::npos) return false;
  for (const std::string& scope : declaration.scopes)
    if (scope == "namespace" || scope.find("detail") != std::string::npos) return false;
  return true;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool wants_comment(const Declaration& declaration) {
  if (starts_with(declaration.head, "template <>"))
    return false;  // documented at the primary template
  if (declaration.kind == DeclarationKind::type) return true;
  if (declaration.kind == DeclarationKind::name_space) return false;
  bool defines_member = qualified_name(declaration.head).find("::") != std::string::npos;
  return is_function_head(declaration.head) && !defines_member &&
         declaration.head.find("operator") == std::string::npos;
}

bool has_comment_above(const SourceFile& file, std::size_t line) {
  if (line < 2) return false;
  std::string_view above = trimmed(file.lines()[line - 2]);
  return starts_with(above, "//") || (above.size() >= 2 && above.substr(above.size() - 2) == "*/");
}

std::vector<Finding> undocumented(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_header() || !is_library(file.path())) return findings;
  std::size_t documented_until = 0;  // last line of the group below a comment
  std::set<std::string> documented_functions;
  for (const Declaration& declaration : declarations(file)) {
    if (!is_public_scope(declaration)) continue;
    bool documented = has_comment_above(file, declaration.first_line) ||
                      documented_until + 1 == declaration.first_line;
    if (is_function_head(declaration.head)) {
      std::string name = qualified_name(declaration.head);
      documented = documented || documented_functions.count(name) > 0;
      if (documented) documented_functions.insert(name);
    }
    if (documented) documented_until = declaration.last_line;
    if (!documented && wants_comment(declaration))
      findings.push_back({file.path(), declaration.first_line,
                          fmt::format("expected a comment above: {}", declaration.head)});
  }
  return findings;
}

SourceFile header(std::string_view text) {
  return SourceFile("mesh/a.h", fmt::format("namespace simmesh {{\n\n{}\n}}\n", text));
}

TEST(Comments, StandAboveAllThatHeadersOffer) { EXPECT_TRUE(holds_in_tree(undocumented)); }

TEST(Comments, FiresOnWhatHasNone) {
  for (std::string text :
       {"class A {\n};", "struct A {\n  int x;\n};", "enum class A { x };", "int f(int x);",
        "inline int f(int x) {\n  return x;\n}", "template <class T = int>\nT f(T x);",
        "[[nodiscard]] std::vector<int> f(const A& a = {});", "template <class T>\nclass A {\n};"})
    EXPECT_THAT(undocumented(header(text)), SizeIs(1)) << text;
}

TEST(Comments, FiresAfterABlankLine) {
  EXPECT_THAT(undocumented(header("// f is one.\nint f();\n\nint g();")), SizeIs(1));
}

TEST(Comments, AreSharedByAGroup) {
  EXPECT_THAT(undocumented(header("// They are two.\nint f(int x);\nint f(double x);")), IsEmpty());
}

TEST(Comments, AreSharedByOverloads) {
  EXPECT_THAT(undocumented(header("// f is one.\nint f(int x);\n\nint f(double x);")), IsEmpty());
}

TEST(Comments, AreNotAskedForWhereNothingIsOffered) {
  for (std::string text :
       {"class A;", "using A = int;", "template <>\nstruct B<A> {\n};",
        "namespace detail {\nint f();\n}", "inline int A::f() const {\n  return 1;\n}",
        "std::ostream& operator<<(std::ostream& out, A a);", "inline constexpr int x = f(3);",
        "static_assert(sizeof(int) == 4);", "// A is one.\nclass A {\n int f();\n};"})
    EXPECT_THAT(undocumented(header(text)), IsEmpty()) << text;
}

}  // namespace
}  // namespace simmesh::tidy
