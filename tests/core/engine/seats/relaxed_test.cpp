#include "core/engine/seats/relaxed.h"

#include <gtest/gtest.h>
#include <thread>

namespace simmesh {
namespace {

TEST(Relaxed, IsCopiedAndAssignedAsItsValue) {
  Relaxed<int> one = 1, other = one;
  one = 2;
  EXPECT_EQ(other, 1);
  other = one;
  EXPECT_EQ(other, 2);
}

// If this fails, a thread waits forever for what another one wrote, or a sanitizer reports a race.
TEST(Relaxed, IsSeenByAnotherThread) {
  Relaxed<bool> is_done = false;
  std::thread other([&] { is_done = true; });
  while (!is_done) std::this_thread::yield();
  other.join();
}

}  // namespace
}  // namespace simmesh
