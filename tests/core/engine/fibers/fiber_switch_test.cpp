#include "core/engine/fibers/fiber_switch.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "tests/every_schedule.h"

namespace simmesh {
namespace {

// If this fails, a fiber that waits inside a catch block finds the exception of another fiber.
TEST(SavedExceptions, HideThoseThatAreBeingHandled) {
  ExceptionState& state = ExceptionState::of_current_thread();
  try {
    throw std::runtime_error("outer");
  } catch (const std::runtime_error&) {
    {
      SavedExceptions saved(state);
      EXPECT_EQ(std::current_exception(), nullptr);
      try {
        throw std::runtime_error("inner");
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "inner");
      }
      EXPECT_EQ(std::current_exception(), nullptr);
    }
    try {
      throw;
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "outer");
    }
  }
  EXPECT_EQ(std::current_exception(), nullptr);
}

// Sets how many exceptions it saw on their way when it went.
struct Unwound {
  int& in_flight;
  ~Unwound() { in_flight = std::uncaught_exceptions(); }
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
      Unwound unwound{in_flight};
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
        volatile char frame[256] = {};
        inner.yield();
        frame[inner.id()] = 1;
      });
      volatile char frame[256] = {};
      rank.yield();
      frame[rank.id()] = 1;
    }
  });
}

}  // namespace
}  // namespace simmesh
