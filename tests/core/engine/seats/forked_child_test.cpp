#include "core/engine/seats/forked_child.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "core/check/error.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

// Returns the exit status of a child of rank 0, whose body is given; the other ranks go on.
int status_of_child(bool ranks_are_threads, const std::function<void(Rank&)>& child_body) {
  WorldOptions options{.ranks = 3};
  options.ranks_are_threads = ranks_are_threads;
  options.threads = ranks_are_threads ? 1 : 2;
  int status = -1;
  Outcome outcome = World(options).run([&](Rank& rank) {
    rank.yield();
    if (rank.id() == 0) {
      pid_t child = fork();
      if (child == 0) {
        alarm(30);  // a child that waits for ranks that aren't there
        child_body(rank);
        return;
      }
      waitpid(child, &status, 0);
    }
    rank.yield();
  });
  EXPECT_TRUE(outcome.ok());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

class ForkedChildren : public ::testing::TestWithParam<bool> {};

std::string name_of_kind(const ::testing::TestParamInfo<bool>& kind) {
  return kind.param ? "OfThreads" : "OfWorkers";
}

INSTANTIATE_TEST_SUITE_P(, ForkedChildren, ::testing::Bool(), name_of_kind);

// If this fails, a child waits for ever for ranks that it doesn't have.
TEST_P(ForkedChildren, AreToldThatTheyAreNoRanks) {
  EXPECT_EQ(status_of_child(
                GetParam(),
                [](Rank& rank) {
                  try {
                    rank.yield();
                  } catch (const Error& error) {
                    _exit(error.message().find("the child of a fork") != std::string::npos ? 7 : 8);
                  }
                }),
            7);
}

// If this fails, a child that leaves the rank's body goes on as a rank, or hangs.
TEST_P(ForkedChildren, EndWithTheBody) {
  EXPECT_EQ(status_of_child(GetParam(), [](Rank&) {}), 0);
  EXPECT_EQ(status_of_child(GetParam(), [](Rank& rank) { rank.yield(); }), 1);
}

// If this fails, a child can't run a world of its own.
TEST_P(ForkedChildren, RunWorldsOfTheirOwn) {
  EXPECT_EQ(status_of_child(GetParam(),
                            [](Rank&) {
                              Outcome own =
                                  World({.ranks = 2}).run([](Rank& rank) { rank.yield(); });
                              _exit(own.ok() ? 5 : 6);
                            }),
            5);
}

}  // namespace
}  // namespace simmesh
