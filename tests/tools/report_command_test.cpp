#include <gtest/gtest.h>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::ProgramRun;
using testing::run_program;
using testing::TemporaryFolder;

// Writes the report of a small gate, and returns its path.
std::string write_report_of(const TemporaryFolder& folder, const std::string& name,
                            const std::string& options) {
  std::string gate = folder.write("g.toml",
                                  "[mesh]\nshape = [4]\n[data]\nbatch = 4\n[parallel]\n"
                                  "replicate = {}\n[expect]\nschedules = 2\n");
  std::string page = (folder.path() / name).string();
  ProgramRun run = run_program("run " + gate + " --quiet --report " + page + options);
  EXPECT_EQ(run.status, 0) << run.output;
  return page;
}

TEST(ReportCommand, EqualRunsHaveNoDifference) {
  TemporaryFolder folder;
  std::string a = write_report_of(folder, "a.html", ""), b = write_report_of(folder, "b.html", "");
  ProgramRun run = run_program("report --diff " + a + " " + b);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output, "no difference\n");
  EXPECT_EQ(run_program("report --diff --json " + a + " " + b).output, "{\"differs\":false}\n");
}

// The first operation that another schedule moves is named, before hashes that differ by it.
TEST(ReportCommand, NamesTheFirstOperationThatDiffers) {
  TemporaryFolder folder;
  std::string a = write_report_of(folder, "a.html", ""),
              b = write_report_of(folder, "b.html", " --schedule seeded:3");
  ProgramRun run = run_program("report --diff " + a + " " + b);
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.output.find("Timeline of the schedule, rank"), run.output.npos) << run.output;
  EXPECT_EQ(run.line_count(), 3u) << run.output;
}

TEST(ReportCommand, PrintsASummaryAndTheData) {
  TemporaryFolder folder;
  std::string a = write_report_of(folder, "a.html", "");
  EXPECT_EQ(run_program("report " + a).output, "3 passed, 0 failed\n");
  std::string data = folder.write("data.json", run_program("report --json " + a).output);
  EXPECT_EQ(run_program("report --diff " + a + " " + data).output, "no difference\n");
}

TEST(ReportCommand, RefusesWhatIsNoReport) {
  TemporaryFolder folder;
  std::string text = folder.write("x.html", "<html></html>");
  expect_refused("report " + text, "expected a page that --report wrote");
  expect_refused("report nowhere.html", "nowhere.html");
  expect_refused("report --diff " + text, "expected two reports with --diff, got 1");
  expect_refused("report " + text + " " + text, "expected one report");
}

}  // namespace
}  // namespace simmesh
