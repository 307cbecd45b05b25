#include "core/check/stack_trace.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

[[gnu::noinline]] void print_from_a_function_with_a_name() {
  StackTrace trace = StackTrace::here();
  trace.print();
}

// addr2line needs no debug information for names of functions.
TEST(StackTrace, PrintsTheCallersByName) {
  testing::internal::CaptureStderr();
  print_from_a_function_with_a_name();
  std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("print_from_a_function_with_a_name"), std::string::npos) << printed;
}

}  // namespace
}  // namespace simmesh
