#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/engine/reports/own_objects.h"
#include "core/engine/run/shared.h"
#include "core/engine/schedules/random_stream.h"
#include "core/engine/schedules/sampling.h"
#include "core/engine/world.h"

namespace simmesh::testing {

// InjectedBug is a program whose ranks end well under most schedules, and fail or hang under some.
struct InjectedBug {
  std::string name;
  std::size_t ranks;
  std::function<std::function<void(Rank&)>()> make_body;  // for one run
};

inline void expect_order(bool is_right, const char* what) {
  if (!is_right) raise(ErrorKind::runtime_error, "bug", "{}", what);
}

// use_often is work that has nothing to do with the bug, but takes steps.
inline void use_often(Shared<int>& own, int times) {
  for (int i = 0; i < times; ++i) own.use([](int& value) { ++value; });
}

// State is what the ranks of a run share: each member is a variable of its own.
struct BugState {
  Shared<int> counter{"counter", 0}, flag{"flag", 0}, waiter{"waiter", 0}, stage{"stage", 0};
  Shared<int> busy_0{"busy 0", 0}, busy_1{"busy 1", 0}, busy_2{"busy 2", 0};

  Shared<int>& busy(RankId rank) { return rank == 0 ? busy_0 : rank == 1 ? busy_1 : busy_2; }
};

using BugBody = void (*)(Rank& rank, BugState& state);

// lose_update reads and writes a counter in two steps.
inline void lose_update(Rank& rank, BugState& state) {
  use_often(state.busy(rank.id()), 5 * int(rank.id() % 3));
  int seen = state.counter.use([](int& value) { return value; });
  state.counter.use([=](int& value) { value = seen + 1; });
  barrier(ProcessGroup::world());
  int all = state.counter.use([](int& value) { return value; });
  expect_order(all == int(rank.world().ranks()), "an update was lost");
}

// take_any takes the first message for that of rank 1, which has less to do than rank 2.
inline void take_any(Rank& rank, BugState& state) {
  ProcessGroup world = ProcessGroup::world();
  if (rank.id() != 0) {
    use_often(state.busy(rank.id()), rank.id() == 1 ? 2 : 8);
    return send(full({1}, DType::int64, rank.id()), {.peer = 0}, world);
  }
  expect_order(recv(Dims{1}, DType::int64, {}, world).peer == 1, "took another rank's message");
  recv(Dims{1}, DType::int64, {}, world);
}

// lose_wakeup looks for a flag, and tells that it waits in a second step. The other rank sends a
// message only to a rank that waits.
inline void lose_wakeup(Rank& rank, BugState& state) {
  ProcessGroup world = ProcessGroup::world();
  if (rank.id() == 0) {
    use_often(state.busy_0, 3);
    if (state.flag.use([](int& value) { return value; }) == 1) return;
    state.waiter.use([](int& value) { value = 1; });
    recv(Dims{1}, DType::int64, {.peer = 1}, world);
  } else if (rank.id() == 1) {
    use_often(state.busy_1, 6);
    state.flag.use([](int& value) { value = 1; });
    if (state.waiter.use([](int& value) { return value; }) == 1)
      send(full({1}, DType::int64, 1), {.peer = 0}, world);
  }
}

// read_stale uses a result without a wait, which is there as long as the other ranks are fast.
inline void read_stale(Rank& rank, BugState& state) {
  ProcessGroup world = ProcessGroup::world();
  Work work = all_reduce_async(full({1}, DType::int64, 1), ReduceOp::sum, world);
  use_often(state.busy(rank.id()), rank.id() == 0 ? 6 : 1);
  if (rank.id() == 0) expect_order(work.is_completed(), "read a buffer before it was written");
  work.wait();
}

// use_early uses what rank 0 makes after some work, without waiting for it.
inline void use_early(Rank& rank, BugState& state) {
  use_often(state.busy(rank.id()), rank.id() == 0 ? 2 : 12);
  if (rank.id() == 0) state.stage.use([](int& value) { value = 1; });
  if (rank.id() == 1)
    expect_order(state.stage.use([](int& value) { return value; }) == 1, "used it too early");
}

// mix_stages fails if three events of three ranks come in one order of six, amid other work.
inline void mix_stages(Rank& rank, BugState& state) {
  use_often(state.busy(rank.id()), 3);
  int expected = 2 - int(rank.id());
  int before = state.stage.use([=](int& value) { return value == expected ? value++ : value; });
  expect_order(rank.id() != 0 || before != 2, "the stages came from last to first");
  use_often(state.busy(rank.id()), 3);
}

inline std::vector<InjectedBug> injected_bugs() {
  auto bug = [](const char* name, std::size_t ranks, BugBody body) {
    return InjectedBug{name, ranks, [body] {
                         return [body, state = std::make_shared<BugState>()](Rank& rank) {
                           body(rank, *state);
                         };
                       }};
  };
  return {bug("lost update", 3, lose_update),  bug("message of any rank", 3, take_any),
          bug("lost wake-up", 2, lose_wakeup), bug("stale buffer", 3, read_stale),
          bug("used too early", 2, use_early), bug("stages of three ranks", 3, mix_stages)};
}

// BugHunt looks for a bug with one policy: "random", "pct", "pos" or "walk".
struct BugHunt {
  const InjectedBug& bug;
  std::string policy;

  // runs_until_found returns the number of runs until one fails; nothing after `runs_max`.
  std::optional<std::uint64_t> runs_until_found(std::uint64_t seed, std::uint64_t runs_max) const {
    WorldOptions first{.ranks = bug.ranks, .record_choices = true};
    Outcome first_run = World(first).run(bug.make_body());
    const std::vector<RankId>& choices = first_run.choices;
    std::vector<std::uint64_t> own =
        objects_of_one_rank({first_run.touches.data(), first_run.touches.size()});
    for (std::uint64_t run = 1; run <= runs_max; ++run) {
      WorldOptions options{.ranks = bug.ranks, .seed = RandomStream(seed, run).next()};
      if (policy == "random") options.schedule = Schedule::seeded();
      if (policy == "pct") options.schedule = Schedule::pct({.depth = 3, .steps = choices.size()});
      if (policy == "pos") options.schedule = pos_schedule(options.seed, own);
      if (policy == "walk") options.schedule = walk_schedule(steps_by_rank(choices));
      if (!World(options).run(bug.make_body()).ok()) return run;
    }
    return {};
  }

  // median_of returns the median over so many seeds. A hunt in vain counts as runs_max.
  std::uint64_t median_of(std::uint64_t seeds, std::uint64_t runs_max) const {
    std::vector<std::uint64_t> runs;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
      runs.push_back(runs_until_found(seed, runs_max).value_or(runs_max));
    std::sort(runs.begin(), runs.end());
    return runs[runs.size() / 2];
  }
};

}  // namespace simmesh::testing
