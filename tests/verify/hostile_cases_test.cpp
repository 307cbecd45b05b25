#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>

#include "verify/case_files.h"
#include "verify/verify.h"

namespace simmesh {
namespace {

namespace fs = std::filesystem;

struct CorpusFile {
  std::string name;
  std::string text;
};

std::vector<CorpusFile> corpus(const std::string& folder) {
  std::vector<CorpusFile> files;
  for (const auto& entry :
       fs::directory_iterator(SIMMESH_SOURCE_DIR "/tests/verify/corpus/" + folder)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    files.push_back({entry.path().filename().string(),
                     std::string(std::istreambuf_iterator<char>(stream), {})});
  }
  std::sort(files.begin(), files.end(),
            [](const CorpusFile& a, const CorpusFile& b) { return a.name < b.name; });
  return files;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

enum class CaseEnding { passed, failed, refused };

// Runs all cases of a text. Anything but a BadCase that gets out is a defect and fails the test.
CaseEnding run_case(const std::string& text, const std::string& name) {
  try {
    CaseEnding ending = CaseEnding::passed;
    for (const RecordedCase& recorded : cases_from_text(text, name))
      if (verify_case(recorded, {}).failed()) ending = CaseEnding::failed;
    return ending;
  } catch (const BadCase& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith("[" + name)) << text;
    EXPECT_THAT(error.what(), ::testing::HasSubstr("expected")) << text;
    EXPECT_LT(std::string_view(error.what()).size(), 400u) << text;
    return CaseEnding::refused;
  }
}

// Truncated, mistyped, oversized and hostile files: each line for itself must be refused with its
// place.
TEST(HostileCases, BadFilesAreRefused) {
  for (const CorpusFile& file : corpus("bad")) {
    EXPECT_EQ(run_case(file.text, file.name), CaseEnding::refused) << file.name;
    if (!file.name.ends_with(".jsonl")) continue;
    for (const std::string& line : lines_of(file.text))
      EXPECT_EQ(run_case(line, file.name), CaseEnding::refused)
          << file.name << ": " << line.substr(0, 200);
  }
}

TEST(HostileCases, WrongCasesFail) {
  for (const CorpusFile& file : corpus("failing"))
    for (const std::string& line : lines_of(file.text))
      EXPECT_EQ(run_case(line, file.name), CaseEnding::failed)
          << file.name << ": " << line.substr(0, 200);
}

class Splitmix {
 public:
  explicit Splitmix(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t limit) {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::size_t>((x ^ (x >> 31)) % limit);
  }

 private:
  std::uint64_t state_;
};

// Changes a text in one of the ways in which files break or are made to break programs.
std::string mutated(std::string text, Splitmix& random) {
  static const std::vector<std::string> words = {
      "null", "-1", "0",    "9999999999", "18446744073709551616", "1e308", "\"\"",
      "[]",   "{}", "true", "2.5",        "[[[[[[]]]]]]",         "\xff",  "9223372036854775807"};
  std::size_t at = random.below(text.size());
  switch (random.below(7)) {
    case 0: text[at] = static_cast<char>(text[at] ^ (1 << random.below(8))); break;
    case 1: text.resize(at); break;
    case 2: text.erase(at, 1 + random.below(8)); break;
    case 3: text.insert(at, words[random.below(words.size())]); break;
    case 4: text.insert(at, text.substr(random.below(text.size()), 1 + random.below(20))); break;
    case 5: std::swap(text[at], text[random.below(text.size())]); break;
    default: {
      // A number, a word or a punctuation mark becomes another value.
      std::size_t end = text.find_first_of(",]}", at);
      std::size_t begin = text.find_last_of(",[{:", at);
      if (begin == text.npos || end == text.npos || begin >= end) break;
      text.replace(begin + 1, end - begin - 1, words[random.below(words.size())]);
    }
  }
  return text;
}

// No file may end the process, hang it or make it allocate without bounds: each broken line must
// run to an end, passed, failed or refused.
void run_broken_copies(std::int64_t copies) {
  std::int64_t endings[3] = {};
  Splitmix random(42);
  for (const char* folder : {"good", "failing"})
    for (const CorpusFile& file : corpus(folder))
      for (const std::string& line : lines_of(file.text)) {
        if (line.find("1048576") != line.npos) continue;  // slow, and no case for this test
        std::string text = line;
        for (std::int64_t copy = 0; copy < copies; ++copy) {
          // Faults pile up over four copies, then start afresh.
          text = copy % 4 == 0 || text.empty() ? mutated(line, random) : mutated(text, random);
          ++endings[static_cast<int>(run_case(text, file.name))];
        }
      }
  EXPECT_GT(endings[0], 0);
  EXPECT_GT(endings[1], 500);
  EXPECT_GT(endings[2], 500);
}

// There are some ten thousand broken lines.
TEST(HostileCases, BrokenCopiesEndCleanly) { run_broken_copies(200); }

// It takes minutes; `./dev test --long` runs it.
TEST(HostileCases, DISABLED_AMillionBrokenCopiesEndCleanly) { run_broken_copies(20'000); }

}  // namespace
}  // namespace simmesh
