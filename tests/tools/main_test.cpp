#include "tests/tools/run_program.h"

namespace simmesh {
namespace {

using testing::expect_refused;
using testing::run_program;

// A command that can't run ends with status 2 and one line, never with a signal.
TEST(Main, RefusesInOneLine) {
  expect_refused("", "A subcommand is required");
  expect_refused("fly",
                 "expected a subcommand (run, explore, verify, merge, releases, validate, plan, "
                 "replay, checkpoint, config, falsify, compose, report or doctor), "
                 "got fly");
  expect_refused("record", "got record. Cases are recorded from PyTorch by the Python package");
  expect_refused("museum", "It also has museum, torchrun");
  expect_refused("doctor --colour", "--colour");
  expect_refused("verify", "PATH is required");
  expect_refused("verify $'no\\nsuch\\nfile'", "expected a file or a folder");
}

TEST(Main, SaysVersionAndHelp) {
  EXPECT_EQ(run_program("--version").output, "simmesh 0.1.0\n");
  auto help = run_program("--help");
  EXPECT_EQ(help.status, 0);
  for (const char* command : {"run", "explore", "verify", "validate", "plan", "doctor"})
    EXPECT_NE(help.output.find(command), help.output.npos) << command;
  EXPECT_EQ(run_program("plan --help").status, 0);
}

// A full disk must not look like success.
TEST(Main, NoticesThatOutputIsLost) {
  EXPECT_EQ(run_program("doctor > /dev/full").status, 2);
  for (const char* words : {"--help", "--version", "plan --help"})
    EXPECT_EQ(run_program(std::string(words) + " > /dev/full").status, 2) << words;
}

}  // namespace
}  // namespace simmesh
