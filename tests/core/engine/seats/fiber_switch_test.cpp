#include "core/engine/seats/fiber_switch.h"

#include <exception>
#include <gtest/gtest.h>
#include <stdexcept>

namespace simmesh {
namespace {

// If this fails, a rank that waits inside a catch block finds, or ends, another rank's exception.
TEST(SavedExceptions, HideWhatAnotherFiberHandles) {
  try {
    throw std::runtime_error("outer");
  } catch (const std::runtime_error&) {
    {
      SavedExceptions saved(ExceptionState::of_current_thread());
      EXPECT_EQ(std::current_exception(), nullptr);
      try {
        throw std::logic_error("inner");
      } catch (const std::logic_error&) {
        EXPECT_NE(std::current_exception(), nullptr);
      }
    }
    try {
      std::rethrow_exception(std::current_exception());
    } catch (const std::exception& again) {
      EXPECT_STREQ(again.what(), "outer");
    }
  }
}

// Counts exceptions in flight while the stack unwinds.
struct Unwound {
  int& outside;
  int& within;
  ~Unwound() {
    outside = std::uncaught_exceptions();
    SavedExceptions saved(ExceptionState::of_current_thread());
    within = std::uncaught_exceptions();
  }
};

TEST(SavedExceptions, HideWhatIsStillUncaught) {
  int outside = 0, within = -1;
  try {
    Unwound unwound{outside, within};
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(outside, 1);
  EXPECT_EQ(within, 0);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

}  // namespace
}  // namespace simmesh
