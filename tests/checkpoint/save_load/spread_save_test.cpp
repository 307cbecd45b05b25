#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "checkpoint/native/commit.h"
#include "checkpoint/save_load/load.h"
#include "checkpoint/save_load/save.h"
#include "checkpoint/store/directory_store.h"
#include "collectives/collectives.h"
#include "core/check/bits_hash.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/formula.h"
#include "core/tensor/known_tensor.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/core/engine/spread/run_spread.h"
#include "tests/temporary_folder.h"

namespace simmesh::checkpoint {
namespace {

constexpr std::int64_t steps = 4;

// Trains from the last checkpoint of a folder, or from the start, and saves after each step.
// Returns the bits of the result.
std::string train_with_saves(const std::string& folder) {
  auto store = std::make_shared<DirectoryStore>(folder);
  std::optional<Location> last = latest(store);
  std::string result;
  World({.ranks = 4})
      .run([&](Rank&) {
        DeviceMesh mesh = init_device_mesh({4});
        Tensor whole = formula(Dims{8, 3}, {.rule = Rule::unit, .dtype = DType::float32});
        Tensor weight = distribute_tensor(whole, mesh, {Shard(0)}).as_tensor();
        std::int64_t step = 0;
        auto state = [&] {
          StateDict all;
          all.add("weight", weight);
          all.add("step", step);
          return all;
        };
        if (last) {
          StateDict loaded = state();
          load(loaded, *last);
          step = loaded.number("step");
        }
        while (step < steps) {
          Tensor piece = weight.local_part();
          Tensor sum = all_reduce(piece, ReduceOp::avg, ProcessGroup::world());
          copy_(piece, add(mul(piece, 0.75), sum));
          ++step;
          save(state(), {store, fmt::format("step_{}", step)});
        }
        Tensor full = all_gather(weight.local_part(), {.dim = 0}, ProcessGroup::world());
        Tensor known = known_tensor(full, "the result");
        result = fmt::format("{:016x}", bits_hash({known.data(), known.bytes()}));
      })
      .rethrow();
  return result;
}

// KillingProcesses end one process at an exchange.
class KillingProcesses final : public Processes {
 public:
  KillingProcesses(Processes& processes, int victim, int at)
      : processes_(processes), victim_(victim), at_(at) {}

  int number() const override { return processes_.number(); }
  int count() const override { return processes_.count(); }
  std::vector<ProcessBytes> exchange(gsl::span<const Parcel> sent, gsl::span<const int> from,
                                     const Idle& idle) override {
    if (++exchanges_ == at_ && number() == victim_) std::raise(SIGKILL);
    return processes_.exchange(sent, from, idle);
  }
  const ProcessBytes& note_of(int process) const override { return processes_.note_of(process); }
  int exchanges() const { return exchanges_; }

 private:
  Processes& processes_;
  int victim_, at_, exchanges_ = 0;
};

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
