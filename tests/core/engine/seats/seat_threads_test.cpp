#include "core/engine/seats/seat_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

using ::testing::Contains;
using ::testing::Not;

// Two runs at once must not share a thread, and a later one gets warm ones.
TEST(SeatThreads, TakesTheFirstThatAreFree) {
  SeatThreads& pool = SeatThreads::of_process();
  std::vector<SeatThread*> first = pool.take(3), second = pool.take(2);
  for (SeatThread* thread : second) EXPECT_THAT(first, Not(Contains(thread)));
  pool.give_back(first);
  EXPECT_EQ(pool.take(3), first);
  pool.give_back(second);
  pool.give_back(first);
}

TEST(SeatThreads, DoTheirJobWhenTheyGetATurn) {
  SeatThreads& pool = SeatThreads::of_process();
  std::vector<SeatThread*> threads = pool.take(2);
  for (int round = 1; round <= 3; ++round) {
    int jobs = 0;
    std::binary_semaphore done{0};
    for (SeatThread* thread : threads) {
      thread->job = [&] {
        ++jobs;
        EXPECT_TRUE(pthread_equal(pthread_self(), thread->thread));
        done.release();
      };
      thread->turn.release();
      done.acquire();
    }
    EXPECT_EQ(jobs, 2);
  }
  pool.give_back(threads);
}

}  // namespace
}  // namespace simmesh
