#include <nlohmann/json.hpp>

#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::run_program;

// The self-checks of the arithmetic hold on this machine.
TEST(DoctorCommand, IsOk) {
  auto run = run_program("doctor");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.last_line(), "ok");
  EXPECT_NE(run.output.find("version: 0.1.0\n"), run.output.npos);
  EXPECT_NE(run.output.find("canonical float32: aaf8c083b7c67c57\n"), run.output.npos);
}

TEST(DoctorCommand, PrintsOneLineOrOneObject) {
  EXPECT_EQ(run_program("doctor --quiet").output, "ok\n");
  auto run = run_program("doctor --json");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.line_count(), 1u);
  auto json = nlohmann::json::parse(run.output);
  EXPECT_EQ(json["result"], "ok");
  EXPECT_EQ(json["fibers"], "ok");
}

}  // namespace
}  // namespace simmesh
