#include "tools/watched_run.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

struct ClearedAtEnd {
  ~ClearedAtEnd() { Interrupt::clear(); }
};

// If this fails, Ctrl-C doesn't end a command that makes many runs, or programs that read its
// output find progress in it.
TEST(WatchedRun, GoesOnUntilItIsInterrupted) {
  ClearedAtEnd afterwards;
  Interrupt::clear();
  CaptureStderr();
  WatchedRun watched({.json = true});
  GoesOn goes_on = watched.goes_on();
  EXPECT_TRUE(goes_on({"cases", 1, 2, 0}));
  Interrupt::request();
  EXPECT_FALSE(goes_on({"cases", 1, 2, 0}));
  watched.end(false);
  EXPECT_EQ(GetCapturedStderr(), "");
  CaptureStderr();
  watched.end(true);
  EXPECT_EQ(GetCapturedStderr(), "simmesh: interrupted\n");
}

}  // namespace
}  // namespace simmesh
