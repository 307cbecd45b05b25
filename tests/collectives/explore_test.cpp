#include "core/engine/explore.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/engine/run/shared.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

TEST(Explore, CollectivesAreOneClassWithACertificate) {
  Exploration found = explore({.ranks = 4}, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    for (int i = 0; i < 3; ++i)
      rank.record(all_reduce(full({4}, DType::float32, rank.id()), ReduceOp::sum, world));
  });
  EXPECT_TRUE(found.ok());
  EXPECT_EQ(found.classes, 1u);
  EXPECT_EQ(found.certificate,
            "all schedules are equivalent: no receive from any source, no Work::is_completed, no "
            "Shared state; other variables that ranks share are not watched");
}

// A rank can act on the answer, so both answers are classes of their own, for a collective and for
// messages in both directions.
TEST(Explore, BothAnswersToIsCompletedAreFound) {
  auto started = [](int kind, const ProcessGroup& world) {
    Tensor one = full({1}, DType::float32, 1);
    if (kind == 0) return all_reduce_async(one, ReduceOp::sum, world);
    if (kind == 1) return isend(one, {.peer = 1}, world);
    return irecv(Dims{1}, DType::float32, {.peer = 1}, world);
  };
  auto answer = [](int kind, const ProcessGroup& world) {
    Tensor one = full({1}, DType::float32, 1);
    if (kind == 0) all_reduce(one, ReduceOp::sum, world);
    if (kind == 1) recv(Dims{1}, DType::float32, {.peer = 0}, world);
    if (kind == 2) send(one, {.peer = 0}, world);
  };
  for (int kind : {0, 1, 2}) {
    std::set<bool> answers;
    Exploration found = explore({.ranks = 2}, [&](Rank& rank) {
      ProcessGroup world = ProcessGroup::world();
      if (rank.id() == 1) return answer(kind, world);
      Work work = started(kind, world);
      bool completed = work.is_completed();
      answers.insert(completed);
      rank.record(std::uint64_t(completed));
      work.wait();
    });
    EXPECT_TRUE(found.complete) << kind;
    EXPECT_EQ(answers.size(), 2u) << kind;
    EXPECT_GE(found.classes, 2u) << kind;
    EXPECT_FALSE(found.one_data_hash) << kind;
    EXPECT_TRUE(found.certificate.empty()) << kind;
  }
}

// A question that is only asked in some schedules makes what was explored before it incomplete.
TEST(Explore, StartsAgainWhenAnObjectShowsLate) {
  std::set<int> seen;
  Exploration found = explore({.ranks = 3}, [&](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    Tensor one = full({1}, DType::int64, rank.id());
    if (rank.id() != 0) {
      send(one, {.peer = 0}, world);
      all_reduce(one, ReduceOp::sum, world);
      return;
    }
    bool second_first = recv(Dims{1}, DType::int64, {}, world).peer == 2;
    recv(Dims{1}, DType::int64, {}, world);
    Work work = all_reduce_async(one, ReduceOp::sum, world);
    int answer = second_first ? 1 + int(work.is_completed()) : 0;
    seen.insert(answer);
    rank.record(std::uint64_t(answer));
    work.wait();
  });
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(seen, (std::set<int>{0, 1, 2}));
}

// n racing messages to one receiver arrive in n! orders, and each order is one class.
TEST(Explore, EachOrderOfRacingMessagesIsOneClass) {
  std::uint64_t factorial = 1;
  for (std::size_t senders = 1; senders <= 4; ++senders) {
    factorial *= senders;
    std::set<std::vector<std::int64_t>> orders;
    Exploration found = explore({.ranks = senders + 1}, [&](Rank& rank) {
      ProcessGroup world = ProcessGroup::world();
      if (rank.id() != 0) return send(full({1}, DType::int64, rank.id()), {.peer = 0}, world);
      std::vector<std::int64_t> order;
      for (std::size_t i = 0; i < senders; ++i)
        order.push_back(recv(Dims{1}, DType::int64, {}, world).peer);
      orders.insert(order);
    });
    EXPECT_TRUE(found.complete);
    EXPECT_FALSE(found.first_failure && found.one_data_hash);
    EXPECT_EQ(found.classes, factorial) << senders << " senders";
    EXPECT_EQ(orders.size(), factorial) << senders << " senders";
    EXPECT_TRUE(found.certificate.empty());
  }
}

TEST(Explore, MessagesFromNamedSendersDoNotRace) {
  Exploration found = explore({.ranks = 4}, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    if (rank.id() != 0) return send(full({1}, DType::int64, rank.id()), {.peer = 0}, world);
    for (std::int64_t peer = 1; peer < 4; ++peer)
      rank.record(recv(Dims{1}, DType::int64, {.peer = peer}, world).tensor);
  });
  EXPECT_EQ(found.classes, 1u);
  EXPECT_FALSE(found.certificate.empty());
}

// A read and a write that are two uses lose an update in some order; the found schedule shows it
// again.
TEST(Explore, FindsALostUpdateAndItsSchedule) {
  auto options = WorldOptions{.ranks = 2};
  auto body = [](Shared<int>& counter, Rank& rank) {
    int seen = counter.use([](int& value) { return value; });
    counter.use([=](int& value) { value = seen + 1; });
    barrier(ProcessGroup::world());
    rank.record(std::uint64_t(counter.use([](int& value) { return value; })));
  };
  std::unique_ptr<Shared<int>> counter;
  auto run = [&](Rank& rank) {
    if (rank.id() == 0) counter = std::make_unique<Shared<int>>("counter", 0);
    barrier(ProcessGroup::world());
    body(*counter, rank);
  };
  Exploration found = explore(options, run);
  EXPECT_TRUE(found.complete);
  EXPECT_FALSE(found.one_data_hash);
  ASSERT_TRUE(found.first_failure);
  options.schedule = Schedule::replay(choices_to_string(found.first_failure->choices));
  EXPECT_EQ(World(options).run(run).data_hash, found.first_failure->data_hash);
  EXPECT_NE(found.data_hash, found.first_failure->data_hash);
}

// Five ranks use one object: 120 classes, all of them with data of their own.
Exploration explore_racers(const ExploreOptions& limits) {
  struct Fresh {
    std::uint32_t run_number = 0;
    std::unique_ptr<Shared<std::uint64_t>> object;
  };
  MakeBody make_body = [] {
    return [fresh = std::make_shared<Fresh>()](Rank& rank) {
      if (fresh->run_number != rank.run_number()) {
        fresh->run_number = rank.run_number();
        fresh->object = std::make_unique<Shared<std::uint64_t>>("object", 1);
      }
      rank.record(fresh->object->use([&](auto& value) { return value = 7 * value + rank.id(); }));
    };
  };
  return explore_each({.ranks = 5}, make_body, limits);
}

void expect_same(const Exploration& found, const Exploration& whole) {
  EXPECT_EQ(found.classes, whole.classes);
  EXPECT_EQ(found.complete, whole.complete);
  EXPECT_EQ(found.data_hash, whole.data_hash);
  EXPECT_EQ(found.estimate, whole.estimate);
  ASSERT_TRUE(found.first_failure);
  EXPECT_EQ(found.first_failure->choices, whole.first_failure->choices);
}

// If this fails, jobs or shards leave out a class, run one twice, or find something else.
TEST(Explore, JobsAndShardsFindTogetherWhatOneFinds) {
  testing::TemporaryFolder folder;
  Exploration whole = explore_racers({});
  EXPECT_EQ(whole.classes, 120u);
  for (std::size_t jobs : {2u, 4u}) expect_same(explore_racers({.jobs = jobs}), whole);
  for (std::uint64_t shards : {1u, 3u, 8u, 40u}) {
    std::vector<std::string> files;
    std::uint64_t classes = 0;
    for (std::uint64_t shard = 1; shard <= shards; ++shard) {
      files.push_back((folder.path() / fmt::format("{}of{}", shard, shards)).string());
      Exploration part = explore_racers({.shard = shard, .shards = shards, .file = files.back()});
      EXPECT_TRUE(part.complete);
      classes += part.classes;
    }
    EXPECT_EQ(classes, 120u) << shards;
    expect_same(explore_racers({.merged = files}), whole);
  }
}

// If this fails, a search of days begins again after an interruption.
TEST(Explore, GoesOnFromItsFile) {
  testing::TemporaryFolder folder;
  std::string file = (folder.path() / "search").string();
  Exploration whole = explore_racers({}), found;
  int sessions = 0;
  std::uint64_t before = 0;
  for (; !found.complete && sessions < 50; ++sessions) {
    int asked = 0;
    found =
        explore_racers({.goes_on = [&](const Exploration&) { return ++asked < 6; }, .file = file});
    EXPECT_GE(found.classes, before);
    before = found.classes;
  }
  EXPECT_GT(sessions, 2);
  expect_same(found, whole);
  EXPECT_THROW(explore_racers({.file = file, .program = 1}), Error);
  EXPECT_THROW(explore_racers({.shard = 1, .shards = 2, .file = file}), Error);
}

// If this fails, a user doesn't know how long a search takes.
TEST(Explore, EstimatesHowManyClassesThereAre) {
  double estimate = explore_racers({.runs_max = 60}).estimate;
  EXPECT_GT(estimate, 30);
  EXPECT_LT(estimate, 480);
}

TEST(Explore, SaysWhereItGaveUp) {
  Exploration found = explore({.ranks = 5},
                              [](Rank& rank) {
                                ProcessGroup world = ProcessGroup::world();
                                if (rank.id() != 0)
                                  return send(full({1}, DType::int64, 1), {.peer = 0}, world);
                                for (int i = 0; i < 4; ++i) recv(Dims{1}, DType::int64, {}, world);
                              },
                              {.runs_max = 3});
  EXPECT_FALSE(found.complete);
  EXPECT_FALSE(found.ok());
}

}  // namespace
}  // namespace simmesh
