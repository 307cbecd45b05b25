#include "tools/program.h"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

void add_fail(CLI::App& program, int& status) {
  program.add_subcommand("fail", "ends with 1")->callback([&status] { status = 1; });
}

void add_raise(CLI::App& program, int&) {
  program.add_subcommand("raise", "raises")->callback([] {
    throw std::runtime_error("one line\nand another");
  });
}

int status_of(std::string word) {
  AddSubcommand* const both[] = {add_fail, add_raise};
  std::string name = "program";
  char* arguments[] = {name.data(), word.data()};
  return simmesh::run_program(both, 2, arguments);
}

// If this fails, a program has other subcommands than those that it was built of.
TEST(Program, RunsTheSubcommandThatIsNamed) {
  EXPECT_EQ(status_of("fail"), 1);
  CaptureStderr();
  EXPECT_EQ(status_of("run"), 2);
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("expected a subcommand (fail or raise), got run"));
}

// If this fails, an error of a subcommand ends the program with a signal, or takes several lines.
TEST(Program, PrintsAnErrorInOneLine) {
  CaptureStderr();
  EXPECT_EQ(status_of("raise"), 2);
  EXPECT_EQ(GetCapturedStderr(), "simmesh: one line and another\n");
}

}  // namespace
}  // namespace simmesh
