#include "core/engine/fibers/fiber_switch.h"

#include <exception>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "tests/every_schedule.h"

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
    [[maybe_unused]] Unwound unwound{outside, within};
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(outside, 1);
  EXPECT_EQ(within, 0);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

// Sets how many exceptions it saw on their way when it went.
struct SeenInFlight {
  int& in_flight;
  ~SeenInFlight() { in_flight = std::uncaught_exceptions(); }
};

// If this fails, a destructor that asks whether it unwinds gets the answer for another rank, and a
// second exception on the way ends the program.
TEST(SavedExceptions, BelongToOneRank) {
  run_every_schedule(4, [](Rank& rank) {
    struct YieldOnTheWay {
      Rank& rank;
      ~YieldOnTheWay() {
        int before = std::uncaught_exceptions();
        rank.yield();
        EXPECT_EQ(std::uncaught_exceptions(), before);
      }
    };
    int in_flight = -1;
    try {
      SeenInFlight seen{in_flight};
      YieldOnTheWay waiting{rank};
      if (rank.id() % 2 == 0) throw std::runtime_error(std::to_string(rank.id()));
    } catch (const std::runtime_error& error) {
      rank.yield();
      EXPECT_EQ(error.what(), std::to_string(rank.id()));
    }
    EXPECT_EQ(in_flight, rank.id() % 2 == 0 ? 1 : 0);
  });
}

// If this fails, a sanitizer isn't told of switches, or a plain program calls functions that it
// doesn't have.
TEST(FiberIdentity, KnowsWhetherTheAddressSanitizerIsThere) {
#if defined(SIMMESH_ASAN)
  EXPECT_TRUE(FiberIdentity::is_watched());
#else
  EXPECT_FALSE(FiberIdentity::is_watched());
#endif
}

// If this fails, the sanitizers lose track of the stack that a thread is on, and report errors that
// are none, after a rank has run a World of its own.
TEST(FiberIdentity, IsThatOfTheRankInANestedWorld) {
  run_every_schedule(2, [](Rank& rank) {
    for (int i = 0; i < 3; ++i) {
      World({.ranks = 3}).run([](Rank& inner) {
        [[maybe_unused]] volatile char frame[256] = {};
        inner.yield();
        frame[inner.id()] = 1;
      });
      [[maybe_unused]] volatile char frame[256] = {};
      rank.yield();
      frame[rank.id()] = 1;
    }
  });
}

}  // namespace
}  // namespace simmesh
