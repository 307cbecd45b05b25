#include "core/check/start_threads.h"

#include <array>
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

// If this fails, work is left out or done twice.
TEST(StartThreads, GivesEachItsNumber) {
  std::array<std::atomic<int>, 8> calls{};
  std::function<void(std::size_t)> work = [&](std::size_t i) { ++calls[i]; };
  start_threads({.where = "a/place", .count = calls.size()}, work).clear();
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
  EXPECT_TRUE(start_threads({.where = "a/place", .count = 0}, work).empty());
  std::atomic<bool> has_run = false;
  start_thread("a/place", [&] { has_run = true; }).join();
  EXPECT_TRUE(has_run);
}

// Starts many threads in a child process that has little memory for their stacks. Returns its exit
// status: 0 for the error that is expected, after which no thread has begun.
int status_with_little_memory() {
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = rlim_t(1) << 29;
    setrlimit(RLIMIT_AS, &limit);
    std::atomic<int> begun = 0;
    std::function<void(std::size_t)> work = [&](std::size_t) { ++begun; };
    std::string text =
        testing::error_text([&] { start_threads({.where = "a/place", .count = 10'000}, work); });
    bool is_expected = text.find("[a/place] expected to start 10000 threads, got ") == 0;
    _exit(is_expected && begun == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// If this fails, a run waits for ever for threads that were never started.
TEST(StartThreads, StartsAllOrNone) {
#if defined(SIMMESH_ASAN) || defined(SIMMESH_TSAN)
  GTEST_SKIP() << "a sanitizer needs more memory than the limit";
#endif
  EXPECT_EQ(status_with_little_memory(), 0);
}

}  // namespace
}  // namespace simmesh
