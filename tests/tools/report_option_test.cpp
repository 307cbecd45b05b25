#include "tools/report_option.h"

#include <gmock/gmock.h>

#include "tests/temporary_folder.h"
#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::ProgramRun;
using testing::run_program;
using testing::TemporaryFolder;

const std::string reported_gate = SIMMESH_SOURCE_DIR "/examples/gates/mlp.toml";

// The page has what the run printed, and the command that makes it again.
TEST(ReportOption, WritesAPageBesideTheUsualOutput) {
  TemporaryFolder folder;
  ProgramRun run =
      run_program("run '" + reported_gate + "' --quiet --report 'a b.html'", folder.path());
  EXPECT_EQ(run.status, 0) << run.output;
  JsonValue data = data_of_page(folder.read("a b.html"), "a b.html");
  EXPECT_TRUE(data.find("summary")->is_text(run.last_line()));
  EXPECT_TRUE(data.find("command")->is_text("simmesh run " + reported_gate +
                                            " --quiet --report 'a b.html'"))
      << data.find("command")->text();
}

TEST(ReportOption, RefusesAFileBeforeAnythingRuns) {
  expect_refused("run '" + reported_gate + "' --report out.txt",
                 "--report: expected a file that ends in");
  expect_refused("run '" + reported_gate + "' --report /nowhere/out.html", "the report");
}

}  // namespace
}  // namespace simmesh
