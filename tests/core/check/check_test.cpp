#include "core/check/check.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "core/check/error.h"

namespace simmesh {
namespace {

// If this fails, a broken contract passes silently or cannot be found in the source.
TEST(Check, ViolationNamesPlaceConditionAndMessage) {
  try {
    SIMMESH_CHECK(1 > 2, "{} ranks", 3);
    FAIL() << "nothing thrown";
  } catch (const ContractViolation& violation) {
    std::string text = violation.what();
    EXPECT_NE(text.find("check_test.cpp:"), text.npos) << text;
    EXPECT_NE(text.find("contract violated: 1 > 2: 3 ranks"), text.npos) << text;
  }
}

// If this fails, a check in a hot path pays for its message, or evaluates its condition twice.
TEST(Check, NothingIsFormattedWhereTheConditionHolds) {
  int formatted = 0, evaluated = 0;
  auto count = [](int& counter) { return ++counter; };
  SIMMESH_CHECK(count(evaluated) == 1, "{}", count(formatted));
  EXPECT_EQ(formatted, 0);
  EXPECT_EQ(evaluated, 1);
}

// If this fails, user code that catches Error would swallow defects of the library.
TEST(Check, ViolationIsNoError) {
  EXPECT_FALSE((std::is_base_of_v<Error, ContractViolation>));
  EXPECT_FALSE((std::is_base_of_v<std::runtime_error, ContractViolation>));
}

// If this fails, the macro swallows the else of an unbraced if around it.
TEST(Check, IsOneStatement) {
  bool reached = false;
  if (reached)
    SIMMESH_CHECK(false, "not here");
  else
    reached = true;
  EXPECT_TRUE(reached);
}

}  // namespace
}  // namespace simmesh
