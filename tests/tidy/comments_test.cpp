#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "tests/tidy/declarations.h"
#include "tests/tidy/house.h"
#include "tests/tidy/public_headers.h"

// A header reads as documentation: everything that it declares at namespace scope has a comment,
// and in public headers also the members that programs can use. Functions that follow one another
// without a blank line share a comment, and so do overloads.
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

// type_name returns "A" for "class A final : public B".
std::string type_name(std::string_view head) {
  head = without_template(head);
  head.remove_prefix(std::min(head.find(' ') + 1, head.size()));
  std::size_t end = 0;
  while (end < head.size() && is_identifier_char(head[end])) ++end;
  return std::string(head.substr(0, end));
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

// True for a member that isn't understood from its head alone. The comment on the class describes
// constructors and operators, the comment on the base overrides; a body shows what its member does.
bool wants_member_comment(const Declaration& declaration) {
  if (!declaration.in_type || !declaration.is_accessible) return false;
  if (declaration.kind == DeclarationKind::type) return true;
  const std::string& head = declaration.head;
  if (declaration.kind != DeclarationKind::statement || !is_function_head(head)) return false;
  // A member that holds a function has the parentheses of its type.
  std::string_view before = std::string_view(head).substr(0, head.find('('));
  if (std::count(before.begin(), before.end(), '<') !=
      std::count(before.begin(), before.end(), '>'))
    return false;
  for (std::string_view word : {"operator", "override", "= delete", "= default", "~", "(*"})
    if (head.find(word) != head.npos) return false;
  return qualified_name(head) != type_name(declaration.scopes.back());
}

bool has_comment_above(const SourceFile& file, std::size_t line) {
  if (line < 2) return false;
  std::string_view above = trimmed(file.lines()[line - 2]);
  return starts_with(above, "//") || (above.size() >= 2 && above.substr(above.size() - 2) == "*/");
}

using WantsComment = bool (*)(const Declaration&);

// Returns the declarations of `of` that want a comment and have none: neither above, nor above the
// group that they are in, nor at an overload before.
std::vector<Finding> without_comment(const SourceFile& file, WantsComment is_of,
                                     WantsComment wants) {
  std::vector<Finding> findings;
  std::size_t documented_until = 0;  // last line of the group below a comment
  std::set<std::string> documented_functions;
  for (const Declaration& declaration : declarations(file)) {
    if (!is_of(declaration)) continue;
    bool documented = has_comment_above(file, declaration.first_line) ||
                      documented_until + 1 == declaration.first_line;
    if (is_function_head(declaration.head)) {
      std::string name = fmt::format("{} {}", fmt::join(declaration.scopes, " "),
                                     qualified_name(declaration.head));
      documented = documented || documented_functions.count(name) > 0;
      if (documented) documented_functions.insert(name);
    }
    if (documented) documented_until = declaration.last_line;
    if (!documented && wants(declaration))
      findings.push_back({file.path(), declaration.first_line,
                          fmt::format("expected a comment above: {}", declaration.head)});
  }
  return findings;
}

std::vector<Finding> undocumented(const SourceFile& file) {
  if (!file.is_header() || !is_library(file.path())) return {};
  return without_comment(file, is_public_scope, wants_comment);
}

std::vector<Finding> undocumented_members(const SourceFile& file) {
  if (public_headers().count(file.path()) == 0) return {};
  return without_comment(
      file, [](const Declaration& declaration) { return declaration.in_type; },
      wants_member_comment);
}

SourceFile header(std::string_view text) {
  return SourceFile("mesh/a.h", fmt::format("namespace simmesh {{\n\n{}\n}}\n", text));
}

TEST(Comments, StandAboveAllThatHeadersOffer) { EXPECT_TRUE(holds_in_tree(undocumented)); }

TEST(Comments, StandAboveMembersThatProgramsUse) {
  EXPECT_TRUE(holds_in_tree(undocumented_members));
}

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

// A is a documented class of a public header, or of another one, with a member.
SourceFile header_with_member(std::string_view member, std::string_view path = "mesh/layout.h") {
  return SourceFile(std::string(path),
                    fmt::format("namespace simmesh {{\n\n// A is one.\nclass A {{\n"
                                " public:\n{}\n}};\n\n}}\n",
                                member));
}

TEST(Comments, FiresOnMembersOfPublicHeaders) {
  for (std::string_view member :
       {"  int f();", "  static A f(int x);", "  virtual void f() const = 0;",
        "  struct B {\n    int x;\n  };", "  enum class B { x };",
        "  std::vector<int> f(const A& a = {});", "  // f is one.\n  int f();\n\n  int g();"})
    EXPECT_THAT(undocumented_members(header_with_member(member)), SizeIs(1)) << member;
}

TEST(Comments, AreNotAskedForMembersThatSpeakForThemselves) {
  for (std::string_view member :
       {"  explicit A(int x);", "  ~A();", "  A(const A&) = delete;",
        "  bool operator==(const A&);", "  void f() override;", "  int f() const { return 1; }",
        "  std::function<void(int)> f;", "  int (*f)();", "  int x = 1;",
        " private:\n  int f();\n  struct B {\n    int g();\n  };",
        "  // f and g are two.\n  int f();\n  int g();",
        "  // f is one.\n  int f();\n\n  int f(int x);"})
    EXPECT_THAT(undocumented_members(header_with_member(member)), IsEmpty()) << member;
  EXPECT_THAT(undocumented_members(header_with_member("  int f();", "mesh/internal.h")), IsEmpty());
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
