#include <array>
#include <boost/fiber/operations.hpp>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "core/check/error.h"
#include "core/engine/schedules/random_stream.h"
#include "core/engine/world.h"
#include "tests/temporary_folder.h"

// Worlds whose ranks do what they may not do, each in a process of its own. However a program is
// wrong, it ends soon, with a report that names a rank and the line that reproduces the run.
namespace simmesh {
namespace {

// NullText is an exception without a text.
struct NullText : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

std::jmp_buf outside;
Rank* another = nullptr;

[[gnu::noinline]] int overflow(int depth) {
  volatile char frame[4096] = {};
  frame[std::size_t(depth) % std::size(frame)] = 1;
  return depth > 1'000'000 ? frame[0] : overflow(depth + 1) + frame[1];
}

// The mistakes of a rank. Each is the last thing that it does, unless an exception ends it.
using Mistake = void (*)(Rank&);
constexpr Mistake mistakes[] = {
    [](Rank&) { std::exit(0); },
    [](Rank&) { std::quick_exit(0); },
    [](Rank&) { std::abort(); },
    [](Rank&) { std::terminate(); },
    [](Rank&) { throw 1; },
    [](Rank&) { throw NullText(); },
    [](Rank&) { throw std::bad_alloc(); },
    [](Rank&) { raise(ErrorKind::value_error, "a/place", "expected a, got b"); },
    [](Rank&) { std::longjmp(outside, 1); },
    [](Rank&) { another->yield(); },
    [](Rank& rank) { rank.world().run([](Rank&) {}); },
    [](Rank&) { World({.ranks = 2}).run([](Rank& inner) { inner.sleep(-1); }).rethrow(); },
    [](Rank&) { boost::this_fiber::yield(); },
    [](Rank&) { *reinterpret_cast<volatile int*>(8) = 1; },
    [](Rank&) { std::raise(SIGFPE); },
    [](Rank& rank) { rank.record(std::uint64_t(overflow(0))); },
    [](Rank& rank) { rank.sleep(-1); },
    [](Rank& rank) {
      for (;;) rank.record(1);
    },
};
constexpr std::size_t mistake_count = std::size(mistakes), longjmp_number = 8;

[[noreturn]] void end_quietly(int) { std::_Exit(3); }

// Runs a world in which one rank makes a mistake at some step. Doesn't return.
[[noreturn]] void run_wrong_world(std::uint64_t seed) {
  RandomStream random(seed, 0x3157);
  std::size_t ranks = 2 + random.below(4), wrong = random.below(ranks);
  std::uint64_t steps = 1 + random.below(5), at = random.below(steps);
  Mistake mistake = mistakes[seed % mistake_count];
  // After a longjmp, other threads would use frames that are gone.
  std::size_t threads = seed % mistake_count == longjmp_number ? 1 : 1 + random.below(2);
  std::array<Schedule, 3> schedules = {Schedule::fifo(), Schedule::seeded(seed),
                                       Schedule::pct({.depth = 3})};
  World world({.ranks = ranks,
               .seed = seed,
               .schedule = schedules[random.below(3)],
               .threads = threads,
               .stack_bytes = 64 * 1024,
               .timeout_seconds = 0.5,
               .program = "./wrong"});
  if (setjmp(outside) != 0) std::exit(0);
  Outcome outcome = world.run([&](Rank& rank) {
    if (rank.id() == (wrong + 1) % ranks) another = &rank;
    rank.yield();
    for (std::uint64_t step = 0; step < steps; ++step) {
      if (rank.id() == wrong && step == at) mistake(rank);
      rank.yield();
      rank.sleep(0.1);
    }
  });
  std::fputs(report(outcome).c_str(), stderr);
  std::_Exit(outcome.ok() ? 0 : 1);
}

void expect_report(std::uint64_t seed) {
  testing::TemporaryFolder folder;
  std::string errors = (folder.path() / "errors").string();
  pid_t child = fork();
  if (child == 0) {
    dup2(::open(errors.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    std::signal(SIGALRM, end_quietly);
    alarm(20);
    run_wrong_world(seed);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  std::string text = folder.read("errors");
  SCOPED_TRACE("mistake " + std::to_string(seed % mistake_count) + " of seed " +
               std::to_string(seed) + "\n" + text);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the mistake passes";
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << "the program hangs";
  EXPECT_NE(text.find("rank "), text.npos) << "no rank is named";
  EXPECT_NE(text.find("reproduce: ./wrong --seed " + std::to_string(seed)), text.npos);
}

// If this fails, a wrong program hangs, passes, or ends without a report.
TEST(MisuseFuzz, EveryMistakeIsReported) {
#if defined(SIMMESH_ASAN) || defined(SIMMESH_TSAN)
  GTEST_SKIP() << "a sanitizer reports crashes in its own way";
#endif
  for (std::uint64_t seed = 0; seed < 3 * mistake_count; ++seed) expect_report(seed);
}

// It takes minutes; `./dev test --long` runs it.
TEST(MisuseFuzz, DISABLED_ThousandsOfMistakesAreReported) {
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) expect_report(seed);
}

}  // namespace
}  // namespace simmesh
