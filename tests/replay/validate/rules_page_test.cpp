#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <regex>
#include <set>
#include <string>

// docs/trace_rules.md lists each rule that is reported, and no other.
namespace simmesh::replay {
namespace {

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string code_of(std::initializer_list<const char*> folders) {
  std::string code;
  for (const char* folder : folders)
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(SIMMESH_SOURCE_DIR) / "replay" / folder))
      if (entry.path().extension() == ".cpp") code += text_of_file(entry.path());
  return code;
}

std::set<std::string> matches_of(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
    found.insert((*match)[1]);
  return found;
}

std::set<std::string> rules_of_page() {
  return matches_of(text_of_file(SIMMESH_SOURCE_DIR "/docs/trace_rules.md"),
                    std::regex("\n\\| `([a-z0-9_]+)` \\|"));
}

TEST(RulesPage, HasEachRuleThatIsReported) {
  std::regex reported(
      "(?:error_at|warning_at|note_at|report|expect|compare_values)\\((?:members, |sound, )?\\s*"
      "\"([a-z0-9_]+)\"");
  std::set<std::string> rules = matches_of(code_of({"job", "validate"}), reported);
  EXPECT_GE(rules.size(), 25u);
  std::set<std::string> page = rules_of_page();
  for (const std::string& rule : rules) EXPECT_TRUE(page.contains(rule)) << rule;
}

TEST(RulesPage, HasNoOther) {
  std::string code = code_of({"read", "job", "validate", "analysis", "timeline", "chakra"});
  for (const std::string& rule : rules_of_page())
    EXPECT_NE(code.find("\"" + rule + "\""), std::string::npos) << rule;
}

}  // namespace
}  // namespace simmesh::replay
