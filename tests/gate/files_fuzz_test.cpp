#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>

#include "gate/explain.h"
#include "gate/run_gate.h"

namespace simmesh {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> example_texts() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(SIMMESH_SOURCE_DIR "/examples/gates"))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return texts;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed, 0) {}

  std::size_t below(std::size_t limit) { return std::size_t(random_.below(limit)); }

  // Changes a text in a way in which files break by accident or are made to break programs.
  std::string changed(std::string text) {
    static const std::vector<std::string> words = {
        "-1",        "0",           "1",           "9999999999", "9223372036854775808",
        "1e308",     "\"\"",        "[]",          "{}",         "[[[[[[]]]]]]",
        "true",      "2.5",         "nan",         "\xff",       "1979-05-27",
        "[1, 2]",    "\"\\u0000\"", "\"\"\"",      "# ",         "\n[model]\n",
        "a.b = 1\n", "=",           "{ rank = 1 }"};
    std::size_t at = below(text.size());
    switch (below(7)) {
      case 0: text[at] = char(text[at] ^ (1 << below(8))); break;
      case 1: text.resize(at); break;
      case 2: text.erase(at, 1 + below(8)); break;
      case 3: text.insert(at, words[below(words.size())]); break;
      case 4: text.insert(at, text.substr(below(text.size()), 1 + below(30))); break;
      case 5: std::swap(text[at], text[below(text.size())]); break;
      default: {
        std::size_t end = text.find_first_of(",]}\n", at), begin = text.find_last_of(",[{=", at);
        if (begin == text.npos || end == text.npos || begin >= end) break;
        text.replace(begin + 1, end - begin - 1, " " + words[below(words.size())]);
      }
    }
    return text;
  }

 private:
  RandomStream random_;
};

// True if a gate needs few enough multiplications for a test.
bool is_small(const GateFile& gate) {
  TrainingModel model = training_model(gate.model, gate.model_use());
  double elements = 0;
  for (const ParameterData& parameter : model.parameters)
    elements += double(numel(parameter.shape));
  double rows = double(gate.data.batch) * double(std::max<std::int64_t>(gate.data.sequence, 1));
  for (const GateSameAs& other : gate.expect.same_as)
    if (numel(other.layout.shape) > 8) return false;
  return gate.ranks() <= 8 && elements * rows * double(gate.train.steps) < 2e6 && rows < 200 &&
         gate.train.micro_batches <= 4;
}

enum class Ending { refused, read, run };

// Runs a text as a gate. Any exception but BadGate is a defect, so it isn't caught and fails the
// test.
Ending end_of(const std::string& text, bool runs) {
  try {
    GateFile gate = gate_from_text(text, "g.toml");
    EXPECT_EQ(explain(gate_from_text(explain(gate), "g.toml")), explain(gate)) << text;
    gate.expect.schedules = std::min<std::int64_t>(gate.expect.schedules, 2);
    if (!runs || !is_small(gate)) return Ending::read;
    run_gate(gate);
    return Ending::run;
  } catch (const BadGate& error) {
    std::string_view message = error.what();
    EXPECT_THAT(std::string(message), ::testing::StartsWith("[g.toml:")) << text;
    EXPECT_THAT(std::string(message), ::testing::HasSubstr("expected")) << text;
    EXPECT_EQ(message.find('\n'), message.npos) << text;
    EXPECT_LT(message.size(), 600u) << text;
    return Ending::refused;
  }
}

// A text must not end the process, hang it, or be read with another meaning.
void read_broken_copies(std::int64_t copies_of_each) {
  std::int64_t endings[3] = {};
  Mutator mutator(42);
  for (const std::string& original : example_texts()) {
    std::string text = original;
    for (std::int64_t copy = 0; copy < copies_of_each; ++copy) {
      // Changes accumulate over three copies, and then start again from the original.
      text = mutator.changed(copy % 3 == 0 || text.empty() ? original : text);
      ++endings[int(end_of(text, copy % 30 == 0))];
    }
  }
  EXPECT_GT(endings[int(Ending::refused)], 500);
  EXPECT_GT(endings[int(Ending::read)], 100);
  EXPECT_GT(endings[int(Ending::run)], 3);
}

TEST(GateFilesFuzz, BrokenCopiesEndCleanly) { read_broken_copies(600); }

// It takes minutes; `./dev test --long` runs it.
TEST(GateFilesFuzz, DISABLED_AMillionBrokenCopiesEndCleanly) {
  read_broken_copies(1'000'000 / std::int64_t(example_texts().size()) + 1);
}

}  // namespace
}  // namespace simmesh
