#include "core/engine/seats/turn_processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <semaphore>
#include <thread>
#include <vector>

#include "core/engine/explore.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

using ::testing::Each;

cpu_set_t allowed(pthread_t thread = pthread_self()) {
  cpu_set_t set;
  EXPECT_EQ(pthread_getaffinity_np(thread, sizeof set, &set), 0);
  return set;
}

int first_of(const cpu_set_t& set) {
  int processor = 0;
  while (!CPU_ISSET(processor, &set)) ++processor;
  return processor;
}

// OnlyOn lets the thread run on one processor while it lives.
struct OnlyOn {
  explicit OnlyOn(int processor) {
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    pthread_setaffinity_np(pthread_self(), sizeof only, &only);
  }
  ~OnlyOn() { pthread_setaffinity_np(pthread_self(), sizeof before, &before); }

  cpu_set_t before = allowed(), only;
};

TEST(TurnProcessor, HoldsAThreadUntilItHasWoken) {
  cpu_set_t everywhere = allowed();
  if (CPU_COUNT(&everywhere) < 2) GTEST_SKIP() << "there is one processor";
  TurnProcessor processor;
  std::binary_semaphore turn{0}, woken{0};
  cpu_set_t before, after;
  std::thread thread([&] {
    turn.acquire();
    before = allowed();
    processor.let_go();
    after = allowed();
    woken.release();
  });
  OnlyOn here(first_of(everywhere));
  processor.hold(thread.native_handle());
  turn.release();
  woken.acquire();
  EXPECT_TRUE(CPU_EQUAL(&before, &here.only));
  EXPECT_TRUE(CPU_EQUAL(&after, &everywhere));
  thread.join();
}

// The pool's threads outlive a run, and the next one may have another set of processors.
TEST(TurnProcessor, LetsRanksRunWhereTheirCallerMay) {
  auto sets = [] {
    std::vector<cpu_set_t> seen;
    WorldOptions options{.ranks = 3, .schedule = Schedule::fifo(), .ranks_are_threads = true};
    Outcome outcome = World(options).run([&](Rank& rank) {
      for (int turn = 0; turn < 3; ++turn) {
        seen.push_back(allowed());
        rank.yield();
      }
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
    EXPECT_EQ(seen.size(), 9u);
    return seen;
  };
  auto is = [](const cpu_set_t& expected) {
    return ::testing::Truly(
        [expected](const cpu_set_t& set) { return CPU_EQUAL(&set, &expected); });
  };
  EXPECT_THAT(sets(), Each(is(allowed())));
  {
    OnlyOn here(first_of(allowed()));
    EXPECT_THAT(sets(), Each(is(here.only)));
  }
  EXPECT_THAT(sets(), Each(is(allowed())));
}

}  // namespace
}  // namespace simmesh
