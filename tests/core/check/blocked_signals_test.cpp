#include "core/check/blocked_signals.h"

#include <gtest/gtest.h>
#include <stdexcept>

namespace simmesh {
namespace {

bool blocks(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

// If this fails, a thread of the engine takes the program's signals, or the program loses them.
TEST(BlockedSignals, LastAsLongAsTheScope) {
  EXPECT_FALSE(blocks(SIGUSR1));
  try {
    BlockedSignals scope({SIGURG});
    EXPECT_TRUE(blocks(SIGUSR1));
    EXPECT_FALSE(blocks(SIGURG));
    throw std::runtime_error("a thread can't be started");
  } catch (const std::runtime_error&) {
    EXPECT_FALSE(blocks(SIGUSR1));
  }
}

}  // namespace
}  // namespace simmesh
