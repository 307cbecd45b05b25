#include <cerrno>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/checkpoint/save_load/killed_training.h"
#include "tests/core/engine/spread/run_spread.h"
#include "tests/temporary_folder.h"

namespace simmesh::checkpoint {
namespace {

// Returns what a training over four processes prints, one of which is killed at an exchange.
std::string killed_training(const std::string& folder, int victim, int at) {
  return run_spread(4, [&](WorldSpread& spread) {
    KillingProcesses killing(spread.processes(), victim, at);
    WorldSpread over(killing);
    SpreadScope scope(over);
    std::string result = train_with_saves(folder);
    return at < 0 ? std::to_string(killing.exchanges()) : result;
  });
}

// Waits until no process is left below this one, which gets those whose parent has ended.
void expect_no_process() {
  while (waitpid(-1, nullptr, 0) > 0) continue;
  EXPECT_EQ(errno, ECHILD);
}

// Files that the owners of ranks write would be missing, or written by each process.
TEST(SpreadSave, AnyNumberOfProcessesGoesOnFromACheckpoint) {
  simmesh::testing::TemporaryFolder alone;
  std::string expected = train_with_saves(alone.path());
  for (int processes : {1, 2, 3, 4}) {
    simmesh::testing::TemporaryFolder folder;
    auto train = [&](WorldSpread&) { return train_with_saves(folder.path()); };
    EXPECT_EQ(run_spread(processes, train), expected) << processes << " processes";
    EXPECT_EQ(run_spread(5 - processes, train), expected) << "loaded by " << 5 - processes;
    EXPECT_EQ(train_with_saves(folder.path()), expected);
  }
}

// A process that is killed would leave half a checkpoint, a report that blames another process, or
// a process that waits for it.
TEST(SpreadSave, AKilledProcessLeavesAWholeCheckpoint) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  simmesh::testing::TemporaryFolder whole, counted;
  std::string expected = train_with_saves(whole.path());
  int exchanges = std::stoi(killed_training(counted.path(), 0, -1));
  for (int victim = 0; victim < 4; ++victim)
    for (int point = 0; point < 5; ++point) {
      simmesh::testing::TemporaryFolder folder;
      int at = 1 + (exchanges - 2) * (5 * victim + point) / 20;
      std::string text = killed_training(folder.path(), victim, at);
      // Process 0 can't say how it has ended.
      EXPECT_EQ(text, victim == 0
                          ? ""
                          : fmt::format("error: [engine/processes] expected process {} of 4 "
                                        "to go on, got its end: by signal 9 (Killed)",
                                        victim));
      expect_no_process();
      EXPECT_EQ(run_spread(3, [&](WorldSpread&) { return train_with_saves(folder.path()); }),
                expected)
          << "process " << victim << " was killed at exchange " << at;
    }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace simmesh::checkpoint
