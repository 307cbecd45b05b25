#include "core/engine/reports/crash_report.h"

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/run/run.h"
#include "core/engine/world.h"

// Each test ends a process of its own. What a report says of the program's lines needs debug
// information, so here it is only asked that the report is there.
namespace simmesh {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void run_three(const std::function<void(Rank&)>& body, bool guard_pages = true) {
  World world({.ranks = 3,
               .seed = 7,
               .schedule = Schedule::pct({.depth = 2}),
               .stack_bytes = 64 * 1024,
               .guard_pages = guard_pages,
               .program = "./train --layers 2"});
  Outcome outcome = world.run(body);
  std::fputs(report(outcome).c_str(), stderr);
  std::_Exit(outcome.ok() ? 0 : 1);
}

::testing::Matcher<const std::string&> reports(const std::string& reason) {
  return AllOf(HasSubstr("rank 1 " + reason),
               HasSubstr("reproduce: ./train --layers 2 --seed 7 --schedule pct:2"));
}

// Inlined, it would enlarge the frames of all ranks.
[[gnu::noinline]] std::uint64_t fill_stack(std::size_t bytes, char value) {
  volatile char* frame = static_cast<volatile char*>(__builtin_alloca(bytes));
  for (std::size_t i = 0; i < bytes; ++i) frame[bytes - 1 - i] = value;
  return std::uint64_t(frame[bytes / 2]);
}

// Sanitizers report signals in words of their own.
#if !defined(SIMMESH_ASAN) && !defined(SIMMESH_TSAN)

[[gnu::noinline]] int deep(volatile int* depth) {
  *depth = *depth + 1;
  return *depth == 0 ? 0 : deep(depth) + *depth;
}

TEST(CrashReportDeathTest, ARecursionThatNeverEndsNamesRankStackAndLastOperation) {
  auto body = [](Rank& rank) {
    volatile int depth = 0;
    rank.run().begin_operation(rank, "barrier", {"src/train.cpp", 42});
    std::printf("printed by rank %u. ", rank.id());
    if (rank.id() == 1) rank.record(std::uint64_t(deep(&depth)));
    rank.yield();
  };
  EXPECT_EXIT(run_three(body), ::testing::ExitedWithCode(crash_status),
              AllOf(reports("overflowed its stack of 65536 bytes; set WorldOptions::stack_bytes"),
                    HasSubstr("after it began barrier at train.cpp:42"),
                    HasSubstr("calls, the innermost first:")));
}

TEST(CrashReportDeathTest, ALargeArrayOfZerosOverflows) {
  for (std::size_t bytes : {70'000, 160 * 1024, 1 << 20})
    EXPECT_EXIT(run_three([&](Rank& rank) {
                  if (rank.id() == 1) rank.record(fill_stack(bytes, 0));
                }),
                ::testing::ExitedWithCode(crash_status),
                AllOf(reports("overflowed"), HasSubstr("before its first operation")));
}

void throw_if(bool now) {
  if (now) throw std::runtime_error("escapes");
}

// The process still handles the signal as before: here it ends with the signal.
TEST(CrashReportDeathTest, OtherSignalsNameTheRankAndGoOn) {
  EXPECT_EXIT(run_three([](Rank& rank) {
                volatile int* nowhere = reinterpret_cast<volatile int*>(8);
                if (rank.id() == 1) *nowhere = 1;
              }),
              ::testing::KilledBySignal(SIGSEGV),
              reports("was ended by SIGSEGV at the address 0x8"));
  EXPECT_EXIT(run_three([](Rank& rank) {
                if (rank.id() == 1) std::terminate();
              }),
              ::testing::KilledBySignal(SIGABRT), reports("was ended by SIGABRT"));
  auto throws = [](bool now) noexcept { throw_if(now); };
  EXPECT_EXIT(run_three([&](Rank& rank) { throws(rank.id() == 1); }),
              ::testing::KilledBySignal(SIGABRT),
              AllOf(reports("was ended by SIGABRT"), HasSubstr("escapes")));
}

TEST(CrashReportDeathTest, AHandlerThatWasThereBeforeIsCalledAfterTheReport) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto crash = [] {
    std::signal(SIGSEGV, [](int) { std::_Exit(42); });
    run_three([](Rank& rank) {
      if (rank.id() == 1) *reinterpret_cast<volatile int*>(8) = 1;
    });
  };
  EXPECT_EXIT(crash(), ::testing::ExitedWithCode(42), reports("was ended by SIGSEGV"));
}

#endif

// Without guard pages the overflow harms nobody and is the rank's failure; zeros count too.
TEST(CrashReportDeathTest, WithoutGuardPagesAnOverflowIsAFailure) {
  for (char value : {'\0', '\1'})
    EXPECT_EXIT(run_three(
                    [&](Rank& rank) {
                      if (rank.id() == 1) rank.record(fill_stack(100'000, value));
                      rank.yield();
                    },
                    false),
                ::testing::ExitedWithCode(1),
                AllOf(reports("failed: [engine/stack] rank 1 overflowed its stack"),
                      HasSubstr("set WorldOptions::stack_bytes to more")));
}

TEST(CrashReportDeathTest, ExitWhileOthersWaitNamesTheRank) {
  EXPECT_EXIT(run_three([](Rank& rank) {
                if (rank.id() != 1) rank.run().block(rank, {.operation = "waiting"});
                rank.yield();
                std::exit(0);
              }),
              ::testing::ExitedWithCode(crash_status),
              AllOf(reports("called std::exit"), HasSubstr("rank 0: waited in waiting")));
}

// If this fails, a rank ends the program with the status of its choice, as if all were well.
TEST(CrashReportDeathTest, QuickExitNamesTheRank) {
  EXPECT_EXIT(run_three([](Rank& rank) {
                if (rank.id() == 1) std::quick_exit(0);
              }),
              ::testing::ExitedWithCode(crash_status), reports("called std::quick_exit"));
}

std::jmp_buf outside;

// Leaves a run by longjmp out of rank 1, and then calls `next` on the stack of the program.
void leave_run(void (*next)()) {
  if (setjmp(outside) == 0)
    run_three([](Rank& rank) {
      rank.yield();
      if (rank.id() == 1) std::longjmp(outside, 1);
    });
  next();
}

// If this fails, a program whose run was left goes on with frames that are gone: it crashes later,
// or ends with status 0.
TEST(CrashReportDeathTest, ALongjmpOutOfARankIsReported) {
#if defined(SIMMESH_ASAN) || defined(SIMMESH_TSAN)
  GTEST_SKIP() << "a sanitizer takes the stack that longjmp leads to for the one it left";
#endif
  auto left = reports("left its body by longjmp");
  auto run_again = [] { run_three([](Rank&) {}); };
  auto use_rank = [] { this_rank().yield(); };
  EXPECT_EXIT(leave_run([] { std::exit(0); }), ::testing::ExitedWithCode(crash_status), left);
  EXPECT_EXIT(leave_run(run_again), ::testing::ExitedWithCode(crash_status), left);
  EXPECT_EXIT(leave_run(use_rank), ::testing::ExitedWithCode(crash_status), left);
  auto crash = [] { *reinterpret_cast<volatile int*>(8) = 1; };
  EXPECT_EXIT(leave_run(crash), ::testing::KilledBySignal(SIGSEGV), left);
}

// If this fails, two ranks share one stack after a longjmp from one into the other.
TEST(CrashReportDeathTest, ALongjmpIntoAnotherRankIsReported) {
#if defined(SIMMESH_TSAN)
  GTEST_SKIP() << "the sanitizer refuses a longjmp to another stack itself";
#endif
  static volatile bool is_set = false;
  auto body = [](Rank& rank) {
    if (rank.id() == 0 && setjmp(outside) == 0) {
      is_set = true;
      for (;;) rank.yield();
    }
    while (!is_set) rank.yield();
    if (rank.id() == 1) std::longjmp(outside, 1);
  };
  EXPECT_EXIT(run_three(body), ::testing::ExitedWithCode(crash_status),
              HasSubstr("rank 0 was continued by another rank"));
}

TEST(CrashReportDeathTest, PrimitivesOfBoostFiberAreRefusedWithWhatToUse) {
  auto refused = AllOf(reports("waits in a primitive of Boost.Fiber"), HasSubstr("Rank::yield"));
  EXPECT_EXIT(run_three([](Rank& rank) {
                if (rank.id() == 1) boost::this_fiber::yield();
              }),
              ::testing::ExitedWithCode(crash_status), refused);
  EXPECT_EXIT(run_three([](Rank& rank) {
                if (rank.id() == 1) boost::this_fiber::sleep_for(std::chrono::milliseconds(1));
              }),
              ::testing::ExitedWithCode(crash_status), refused);
  auto hold_over_a_switch = [] {
    boost::fibers::mutex mutex;
    World world({.ranks = 2});
    world.run([&](Rank& rank) {
      std::lock_guard lock(mutex);
      rank.yield();
    });
  };
  EXPECT_EXIT(hold_over_a_switch(), ::testing::ExitedWithCode(crash_status),
              HasSubstr("rank 1 waits in a primitive of Boost.Fiber"));
}

// A mutex that nobody holds needs no switch.
TEST(CrashReport, PrimitivesThatDoNotWaitWork) {
  boost::fibers::mutex mutex;
  World world({.ranks = 2});
  EXPECT_TRUE(world
                  .run([&](Rank& rank) {
                    rank.yield();
                    std::lock_guard lock(mutex);
                  })
                  .ok());
}

TEST(CrashReportDeathTest, AHandlerOfEverythingInALoopIsEnded) {
  EXPECT_EXIT(
      run_three([](Rank& rank) {
        if (rank.id() == 2) throw std::runtime_error("the first failure");
        if (rank.id() == 0) return;
        for (;;) try {
            rank.run().block(rank, {.operation = "waiting"});
          } catch (...) {
          }
      }),
      ::testing::ExitedWithCode(crash_status),
      AllOf(reports("began operations"), HasSubstr("catch (...)"), HasSubstr("the first failure")));
}

}  // namespace
}  // namespace simmesh
