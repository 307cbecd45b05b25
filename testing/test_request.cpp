#include "testing/test_request.h"

#include <fstream>

#include "core/check/shell_word.h"

namespace simmesh::testing {

TestRequest TestRequest::of_words(gsl::span<const std::string> words) {
  if (words.empty()) return {};
  return {.program = words[0], .arguments = WorldArguments::parse(words.subspan(1))};
}

// The system separates the arguments by zero bytes.
TestRequest TestRequest::of_this_process() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return of_words(words);
}

std::string TestRequest::command(const std::string& test) const {
  return shell_word(program) + " " + shell_word("--gtest_filter=" + test);
}

}  // namespace simmesh::testing
