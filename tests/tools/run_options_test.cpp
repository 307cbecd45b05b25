#include "tools/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;
using ::testing::HasSubstr;

struct Parsed {
  RunWords words;
  std::int64_t jobs;
};

Parsed parsed(const std::string& arguments) {
  CLI::App app;
  RunOptions options;
  options.add_to(app, RunOptions::Runs::cases, "cases");
  app.parse(arguments);
  return {options.words(), options.jobs};
}

// If this fails, a subcommand runs with other options than it was given.
TEST(RunOptions, AreWordsOfTheCommandLine) {
  Parsed plain = parsed("");
  EXPECT_FALSE(plain.words.arithmetic);
  EXPECT_FALSE(plain.words.release);
  EXPECT_EQ(plain.jobs, 1);
  Parsed given = parsed(
      "--seed 7 --schedule pct:3 --threads 2 --arithmetic exact --release 2.13 --timeout 0.5 "
      "--jobs 3");
  EXPECT_EQ(given.words.seed, 7u);
  EXPECT_EQ(given.words.schedule, "pct:3");
  EXPECT_EQ(given.words.threads, 2);
  EXPECT_EQ(given.words.arithmetic, "exact");
  EXPECT_EQ(given.words.release, Release::v2_13);
  EXPECT_EQ(given.words.timeout_seconds, 0.5);
  EXPECT_EQ(given.jobs, 3);
}

// If this fails, a misspelt option is found only when the first case runs.
TEST(RunOptions, RefuseWhatCantBeRun) {
  for (const char* wrong :
       {"--threads 0", "--jobs 0", "--timeout -1", "--timeout nan", "--seed -1", "--seed x"})
    EXPECT_THROW(parsed(wrong), CLI::ValidationError) << wrong;
  expect_error([] { parsed("--schedule lifo"); }, ErrorKind::value_error, "lifo");
  expect_error([] { parsed("--arithmetic fast"); }, ErrorKind::value_error, "fast");
  expect_error([] { parsed("--release 1.0"); }, ErrorKind::value_error, "1.0");
  expect_error([] { parsed("--trace /no/such/folder/trace.json"); }, ErrorKind::value_error,
               "/no/such/folder/trace.json");
}

TEST(RunOptions, SayWhoseArithmeticAndReleaseAreTaken) {
  CLI::App gates, cases;
  RunOptions of_gates, of_cases;
  of_gates.add_to(gates, RunOptions::Runs::gates, "gates");
  of_cases.add_to(cases, RunOptions::Runs::cases, "cases");
  EXPECT_THAT(gates.help(), HasSubstr("the gate's own"));
  EXPECT_THAT(cases.help(), HasSubstr("that of each case's source"));
}

TEST(OutputOptions, AreFlags) {
  CLI::App app;
  OutputOptions output;
  output.add_to(app);
  app.parse("--quiet");
  EXPECT_TRUE(output.quiet);
  EXPECT_FALSE(output.json);
}

}  // namespace
}  // namespace simmesh
