#include "testing/test_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/error.h"

// A failed test prints a command. What the command says must be read again, and nothing else.
namespace simmesh::testing {
namespace {

using Words = std::vector<std::string>;

TEST(TestRequest, ReadsOurFlagsAmongThoseOfGoogleTest) {
  TestRequest request = TestRequest::of_words(
      Words{"./my test", "--gtest_filter=A.b", "--seed", "3", "--schedule", "pct:2"});
  EXPECT_EQ(request.program, "./my test");
  EXPECT_EQ(request.arguments.seed, 3u);
  ASSERT_EQ(request.arguments.schedules.size(), 1u);
  EXPECT_EQ(request.arguments.schedules[0].name(), "pct:2");
}

TEST(TestRequest, CommandIsQuotedForAShell) {
  TestRequest request = TestRequest::of_words(Words{"./my test"});
  EXPECT_EQ(request.command("Sizes/A.b/0"), "'./my test' --gtest_filter=Sizes/A.b/0");
}

TEST(TestRequest, RefusesAScheduleThatDoesNotExist) {
  EXPECT_THROW(TestRequest::of_words(Words{"./a", "--schedule", "later"}), Error);
}

TEST(TestRequest, OfThisProcessNamesTheProgram) {
  EXPECT_THAT(TestRequest::of_this_process().program, ::testing::HasSubstr("testing_test"));
}

}  // namespace
}  // namespace simmesh::testing
