#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"
#include "tests/tools/run_program.h"

// Pages show the command's output: a line "$ simmesh ..." in a fenced block is run in the root of
// the repository, and must print the lines that follow it. A line "..." stands for any lines. Those
// of tutorials and guides are run by tests/python/test_guides.py, in a folder with their files.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

using Lines = std::vector<std::string>;

struct Session {
  std::string page;
  std::size_t line = 0;
  std::string command;
  Lines printed;
};

std::vector<Session> sessions_of(const SourceFile& page) {
  std::vector<Session> sessions;
  const Lines& lines = page.lines();
  bool is_fenced = false, is_session = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].substr(0, 3) == "```") {
      is_fenced = !is_fenced;
      is_session = false;
    } else if (is_fenced && lines[i].substr(0, 10) == "$ simmesh ") {
      sessions.push_back({page.path(), i + 1, lines[i].substr(10), {}});
      is_session = true;
    } else if (is_session) {
      sessions.back().printed.push_back(lines[i]);
    }
  }
  return sessions;
}

Lines output_of(const std::string& command) {
  std::string text = simmesh::testing::run_program(command, SIMMESH_SOURCE_DIR).output;
  return SourceFile("output.md", text).lines();
}

// Returns the first difference between a page and what was printed; empty if there is none.
std::string difference(const Lines& page, const Lines& printed) {
  std::size_t next = 0;
  bool leaps = false;
  for (const std::string& line : page) {
    if (line == "...") {
      leaps = true;
      continue;
    }
    std::size_t found = next;
    while (leaps && found < printed.size() && printed[found] != line) ++found;
    if (found >= printed.size()) return fmt::format("expected '{}', got no such line", line);
    if (printed[found] != line) return fmt::format("expected '{}', got '{}'", line, printed[found]);
    next = found + 1;
    leaps = false;
  }
  if (leaps || next == printed.size()) return {};
  return fmt::format("expected no further line, got '{}'", printed[next]);
}

TEST(PageSessions, PrintWhatThePagesSay) {
  std::size_t count = 0;
  for (const SourceFile& file : source_tree()) {
    if (!file.has_extension(".md") || is_below(file.path(), "docs/tutorials") ||
        is_below(file.path(), "docs/guides"))
      continue;
    for (const Session& session : sessions_of(file)) {
      ++count;
      EXPECT_THAT(difference(session.printed, output_of(session.command)), IsEmpty())
          << session.page << ":" << session.line << ": simmesh " << session.command;
    }
  }
  EXPECT_GT(count, 5u);
}

TEST(PageSessions, FireOnAnotherLineALineLessAndALineMore) {
  EXPECT_THAT(difference({"a", "b"}, {"a", "b"}), IsEmpty());
  EXPECT_EQ(difference({"a", "b"}, {"a", "c"}), "expected 'b', got 'c'");
  EXPECT_EQ(difference({"a", "b"}, {"a"}), "expected 'b', got no such line");
  EXPECT_EQ(difference({"a"}, {"a", "b"}), "expected no further line, got 'b'");
  EXPECT_THAT(difference({"...", "c"}, {"a", "b", "c"}), IsEmpty());
  EXPECT_THAT(difference({"a", "..."}, {"a", "b", "c"}), IsEmpty());
  EXPECT_EQ(difference({"a", "...", "b"}, {"a", "b", "c"}), "expected no further line, got 'c'");
}

TEST(PageSessions, AreFoundInFencedBlocksAlone) {
  SourceFile page("docs/page.md",
                  "$ simmesh no\n```\n$ simmesh plan\ncost: 1\n```\n```\ntext\n```\n");
  std::vector<Session> sessions = sessions_of(page);
  ASSERT_THAT(sessions, SizeIs(1));
  EXPECT_EQ(sessions[0].command, "plan");
  EXPECT_EQ(sessions[0].line, 3u);
  EXPECT_EQ(sessions[0].printed, Lines{"cost: 1"});
}

}  // namespace
}  // namespace simmesh::tidy
