#include "tools/program.h"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

void add_fail(CLI::App& program, int& status) {
  program.add_subcommand("fail", "ends with 1")->callback([&status] { status = 1; });
}

void add_needy(CLI::App& program, int&) {
  static std::string path;
  program.add_subcommand("needy", "needs an argument")->add_option("PATH", path)->required();
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

// If this fails, a misspelt option is answered with the argument that is missing behind it, or
// arguments are named in another order than they were given.
TEST(Program, NamesAnUnknownOptionAndFurtherArguments) {
  auto problem = [](std::vector<std::string> words) {
    AddSubcommand* const both[] = {add_fail, add_needy};
    words.insert(words.begin(), "program");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    CaptureStderr();
    EXPECT_EQ(simmesh::run_program(both, int(arguments.size()), arguments.data()), 2);
    return GetCapturedStderr();
  };
  EXPECT_EQ(problem({"needy", "--quit"}), "simmesh: expected a known option, got --quit\n");
  EXPECT_EQ(problem({"needy", "a", "--quit"}), "simmesh: expected a known option, got --quit\n");
  EXPECT_EQ(problem({"fail", "b", "c"}), "simmesh: expected no further argument, got b c\n");
  EXPECT_EQ(problem({"needy"}), "simmesh: PATH is required\n");
}

// If this fails, an error of a subcommand ends the program with a signal, or takes several lines.
TEST(Program, PrintsAnErrorInOneLine) {
  CaptureStderr();
  EXPECT_EQ(status_of("raise"), 2);
  EXPECT_EQ(GetCapturedStderr(), "simmesh: one line and another\n");
}

}  // namespace
}  // namespace simmesh
