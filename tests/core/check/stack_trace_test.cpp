#include "core/check/stack_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

using ::testing::HasSubstr;

[[gnu::noinline]] void print_from_a_function_with_a_name(int depth) {
  if (depth > 0) {
    print_from_a_function_with_a_name(depth - 1);
    asm volatile("");
    return;
  }
  StackTrace trace = StackTrace::here();
  trace.print();
}

[[gnu::noinline]] void begin_a_recursion(int depth) {
  print_from_a_function_with_a_name(depth);
  asm volatile("");
}

std::string printed_at(int depth) {
  ::testing::internal::CaptureStderr();
  begin_a_recursion(depth);
  return ::testing::internal::GetCapturedStderr();
}

// addr2line needs no debug information for names of functions.
TEST(StackTrace, PrintsTheCallersByName) {
  std::string printed = printed_at(0);
  EXPECT_THAT(printed, HasSubstr("print_from_a_function_with_a_name"));
  EXPECT_THAT(printed, HasSubstr("begin_a_recursion"));
}

// If this fails, the report of an endless recursion doesn't say who began it.
TEST(StackTrace, OfADeepRecursionPrintsBothEnds) {
  std::string printed = printed_at(5000);
  EXPECT_THAT(printed, HasSubstr("print_from_a_function_with_a_name"));
  EXPECT_THAT(printed, HasSubstr("begin_a_recursion"));
  EXPECT_THAT(printed, HasSubstr(" more calls ..."));
}

}  // namespace
}  // namespace simmesh
