#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// No code iterates over a hash table, because its order depends on the library and on history and
// would get into plans, messages and bits. Looking up is fine.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// declared_name returns the name after the template arguments that open at or after begin, empty if
// there is none.
std::string declared_name(std::string_view code, std::size_t begin) {
  std::size_t at = code.find('<', begin);
  int depth = 0;
  for (; at < code.size(); ++at) {
    if (code[at] == '<') ++depth;
    if (code[at] == '>' && --depth == 0) break;
  }
  if (at >= code.size()) return {};
  std::string_view rest = code.substr(at + 1);
  while (!rest.empty() && (rest.front() == '&' || rest.front() == ' ' || rest.front() == '\n'))
    rest.remove_prefix(1);
  std::size_t end = 0;
  while (end < rest.size() && is_identifier_char(rest[end])) ++end;
  return std::string(rest.substr(0, end));
}

std::string joined_code(const SourceFile& file) {
  std::string code;
  for (const std::string& line : file.code()) code += line + '\n';
  return code;
}

void collect_unordered_names(const SourceFile& file, std::set<std::string>& names) {
  const std::string code = joined_code(file);
  for (std::string_view type :
       {"unordered_map<", "unordered_set<", "unordered_multimap<", "unordered_flat_map<"})
    for (std::size_t at = code.find(type); at != code.npos; at = code.find(type, at + 1))
      if (std::string name = declared_name(code, at); !name.empty()) names.insert(name);
}

bool walks_over(std::string_view line, const std::string& name) {
  std::size_t colon = line.find(" : " + name + ")");
  if (colon != line.npos && line.find("for (") < colon) return true;
  for (std::string_view call : {".begin()", ".cbegin()"}) {
    std::size_t at = line.find(name + std::string(call));
    if (at != line.npos && (at == 0 || !is_identifier_char(line[at - 1]))) return true;
  }
  return false;
}

// A member is declared in the header, so names come from the header of the same concept too.
std::vector<Finding> unordered_walks(const SourceFile& file, const SourceFile* header) {
  std::vector<Finding> findings;
  if (!file.is_cpp() || !is_library(file.path())) return findings;
  std::set<std::string> names;
  collect_unordered_names(file, names);
  if (header != nullptr) collect_unordered_names(*header, names);
  for (std::size_t i = 0; i < file.code().size(); ++i)
    for (const std::string& name : names)
      if (walks_over(file.code()[i], name))
        findings.push_back(
            {file.path(), i + 1, fmt::format("iterates over the unordered {}", name)});
  return findings;
}

std::vector<Finding> unordered_walks_in_tree_file(const SourceFile& file) {
  const SourceFile* header = nullptr;
  std::string stem = file.path().substr(0, file.path().rfind('.'));
  for (const SourceFile& other : source_tree())
    if (file.has_extension(".cpp") && other.path() == stem + ".h") header = &other;
  return unordered_walks(file, header);
}

TEST(Unordered, NobodyWalksOverAHashTable) {
  EXPECT_TRUE(holds_in_tree(unordered_walks_in_tree_file));
}

TEST(Unordered, FiresOnALoop) {
  SourceFile bad(
      "mesh/a.cpp",
      "std::unordered_map<int, std::vector<int>> table;\nfor (auto& [k, v] : table) f(k);\n");
  EXPECT_THAT(unordered_walks(bad, nullptr), SizeIs(1));
}

TEST(Unordered, FiresOnAMemberOfTheHeader) {
  SourceFile header("mesh/a.h", "  std::unordered_set<int> seen_;\n");
  SourceFile bad("mesh/a.cpp", "std::vector<int> all(seen_.begin(), seen_.end());\n");
  EXPECT_THAT(unordered_walks(bad, &header), SizeIs(1));
}

TEST(Unordered, AllowsLookingUp) {
  SourceFile good("mesh/a.cpp",
                  "std::unordered_map<int, int> table;\nif (table.count(1)) return table.at(1);\n"
                  "for (int x : stable) f(x);\n");
  EXPECT_THAT(unordered_walks(good, nullptr), IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
