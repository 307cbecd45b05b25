#include "checkpoint/zero_cost/async_save.h"

#include <gmock/gmock.h>

#include "checkpoint/catalog/piece.h"
#include "checkpoint/store/faulty_store.h"
#include "checkpoint/tools/verify.h"
#include "core/check/error.h"
#include "tests/checkpoint/background_worlds.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::AllOf;
using testing::background_schedules;
using testing::contents;
using testing::has_round;
using ::testing::HasSubstr;
using testing::run_background;
using testing::run_world;
using testing::sample_state;
using testing::sample_tensors;

Location round_of(const std::shared_ptr<Store>& store, int round) {
  return {store, "round_" + std::to_string(round)};
}

// Changes the tensors of a state, as training does.
void overwrite(StateDict& state) {
  for (LocalTensor& local : local_tensors(state))
    for (Piece& piece : local.pieces)
      unpack(std::vector<std::byte>(piece.part.bytes(), std::byte(0x5A)), piece.part);
}

std::map<std::string, std::vector<std::byte>> saved_at_once(std::int64_t ranks) {
  auto store = std::make_shared<MemoryStore>();
  run_world(ranks, [&] {
    DeviceMesh mesh = init_device_mesh({ranks});
    for (int round : {1, 2, 3})
      save(sample_state(mesh, sample_tensors(Shard(0)), std::uint64_t(round)),
           round_of(store, round));
  });
  return contents(*store);
}

// The tensors change right after each call, but the files are those of saves that block.
TEST(AsyncSave, WritesWhatTheStateWasAtTheCall) {
  for (std::int64_t ranks : {1, 2, 3}) {
    auto expected = saved_at_once(ranks);
    for (std::size_t in_flight : {1, 2, 3})
      for (const WorldOptions& options : background_schedules(ranks)) {
        auto store = std::make_shared<MemoryStore>();
        run_background(options, [&] {
          DeviceMesh mesh = init_device_mesh({ranks});
          std::vector<AsyncSave> saves;
          for (int round : {1, 2, 3}) {
            StateDict state = sample_state(mesh, sample_tensors(Shard(0)), std::uint64_t(round));
            saves.push_back(async_save(state, round_of(store, round),
                                       {.background = {.in_flight = in_flight}}));
            overwrite(state);
            // At most in_flight saves are running.
            if (saves.size() > in_flight) {
              EXPECT_TRUE(saves[saves.size() - 1 - in_flight].done());
            }
          }
          for (int i : {2, 0, 1, 2}) EXPECT_EQ(saves[std::size_t(i)].wait().number, i + 1);
        });
        EXPECT_EQ(contents(*store), expected);
      }
  }
}

// If nobody waits for the last save, the run does.
TEST(AsyncSave, EndsBeforeTheRunEnds) {
  for (const WorldOptions& options : background_schedules(2)) {
    auto store = std::make_shared<MemoryStore>();
    run_background(options, [&] {
      DeviceMesh mesh = init_device_mesh({2});
      async_save(sample_state(mesh, sample_tensors(Shard(0)), 1), round_of(store, 1));
    });
    EXPECT_TRUE(verify(round_of(store, 1)).empty());
  }
}

// With room for more saves, a rank continues though its starved writer has written none.
TEST(AsyncSave, DoesNotWaitWhereThereIsRoom) {
  World world({.ranks = 1, .deputies = 1, .faults = {Fault::starve(1)}});
  auto store = std::make_shared<MemoryStore>();
  auto outcome = world.run([&](Rank&) {
    StateDict state = sample_state(init_device_mesh({1}), sample_tensors(Replicate()), 1);
    for (int round : {1, 2, 3})
      async_save(state, round_of(store, round), {.background = {.in_flight = 3}});
    EXPECT_TRUE(store->files("").empty());
    async_save(state, round_of(store, 4), {.background = {.in_flight = 3}});
    EXPECT_FALSE(store->files("round_1").empty());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// Returns a store with the checkpoint of round 1.
std::shared_ptr<MemoryStore> with_round_one(std::int64_t ranks) {
  auto store = std::make_shared<MemoryStore>();
  run_world(ranks, [&] {
    save(sample_state(init_device_mesh({ranks}), sample_tensors(Shard(0)), 1), round_of(store, 1));
  });
  return store;
}

bool loads(const Location& location, std::uint64_t round) {
  bool is_right = false;
  run_world(1, [&] {
    StateDict state = sample_state(init_device_mesh({1}), sample_tensors(Replicate()), 0);
    load(state, location);
    is_right = has_round(state, sample_tensors(Replicate()), round);
  });
  return is_right;
}

constexpr std::int64_t failing_ranks = 2;

std::int64_t operations_of_round_two() {
  auto counting = std::make_shared<FaultyStore>(with_round_one(failing_ranks), FaultyStore::Plan());
  run_world(failing_ranks, [&] {
    save(sample_state(init_device_mesh({failing_ranks}), sample_tensors(Shard(0)), 2),
         round_of(counting, 2));
  });
  return counting->operations();
}

// Every operation of the store fails once. Under every schedule both ranks get the error when they
// wait, or at the next save. The old checkpoint loads, and a later save succeeds.
TEST(AsyncSave, EveryFailingOperationIsHeardOf) {
  std::int64_t operations = operations_of_round_two(), heard = 0;
  for (auto fault : {FaultyStore::Fault::fail, FaultyStore::Fault::short_write})
    for (std::int64_t operation = 1; operation <= operations; ++operation)
      for (bool waits : {false, true})
        for (const WorldOptions& options : background_schedules(failing_ranks, 1)) {
          auto memory = with_round_one(failing_ranks);
          auto faulty = std::make_shared<FaultyStore>(memory, FaultyStore::Plan{fault, operation});
          std::vector<std::string> errors(failing_ranks);
          run_background(options, [&] {
            DeviceMesh mesh = init_device_mesh({failing_ranks});
            StateDict state = sample_state(mesh, sample_tensors(Shard(0)), 2);
            AsyncSave saving = async_save(state, round_of(faulty, 2));
            errors[this_rank().id()] = error_text([&] {
              waits ? void(saving.wait()) : void(async_save(state, round_of(memory, 4)));
            });
            async_save(sample_state(mesh, sample_tensors(Shard(0)), 3), round_of(memory, 3)).wait();
          });
          for (std::int64_t rank = 0; rank < failing_ranks; ++rank) {
            const std::string& error = errors[std::size_t(rank)];
            EXPECT_EQ(error.empty(), errors[0].empty()) << faulty->log().back();
            if (error.empty()) continue;
            ++heard;
            EXPECT_THAT(error,
                        AllOf(HasSubstr(fmt::format("the writer of rank {} failed at ", rank)),
                              HasSubstr("memory/round_2"), HasSubstr("cannot ")));
          }
          EXPECT_TRUE(loads(round_of(memory, 1), 1));
          EXPECT_TRUE(loads(round_of(memory, 3), 3));
        }
  EXPECT_GT(heard, 100);
}

// A writer's machine stops at every operation. The run ends with that, and never hangs. The store
// has the old checkpoint or the new one.
TEST(AsyncSave, AWriterThatIsGoneEndsTheRun) {
  std::int64_t operations = operations_of_round_two();
  for (std::int64_t operation = 1; operation <= operations; ++operation)
    for (const WorldOptions& options : background_schedules(failing_ranks, 1)) {
      auto memory = with_round_one(failing_ranks);
      auto faulty = std::make_shared<FaultyStore>(
          memory, FaultyStore::Plan{FaultyStore::Fault::stop_before, operation});
      World world(options);
      Outcome outcome = world.run([&](Rank&) {
        DeviceMesh mesh = init_device_mesh({failing_ranks});
        async_save(sample_state(mesh, sample_tensors(Shard(0)), 2), round_of(faulty, 2)).wait();
      });
      EXPECT_EQ(outcome.failure->kind, Failure::Kind::error) << report(outcome);
      std::optional<Location> last =
          latest(std::make_shared<MemoryStore>(memory->stopped(MemoryStore::After::only_synced)));
      ASSERT_TRUE(last);
      EXPECT_TRUE(loads(*last, last->name == "round_1" ? 1 : 2));
    }
}

// A writer is killed at each of its operations. Its rank raises, and so do the ranks whose writers
// would wait for ever.
TEST(AsyncSave, EveryRankHearsOfAKilledWriter) {
  std::int64_t kills = 0;
  for (RankId victim : {0, 1})
    for (std::uint64_t operation = 1;; ++operation) {
      bool was_killed = false;
      for (WorldOptions options : background_schedules(failing_ranks, 1)) {
        options.faults = {Fault::kill(
            {.rank = deputy_id(options, victim, writing_deputy), .operation = operation})};
        auto store = with_round_one(failing_ranks);
        std::vector<std::string> errors(failing_ranks);
        run_background(options, [&] {
          DeviceMesh mesh = init_device_mesh({failing_ranks});
          AsyncSave saving =
              async_save(sample_state(mesh, sample_tensors(Shard(0)), 2), round_of(store, 2));
          errors[this_rank().id()] = error_text([&] { saving.wait(); });
        });
        was_killed = !errors[victim].empty();
        EXPECT_TRUE(loads(round_of(store, 1), 1));
        if (!was_killed) continue;
        ++kills;
        std::string who = fmt::format("the writer of rank {} failed at memory/round_2", victim);
        for (const std::string& error : errors)
          EXPECT_THAT(error, AllOf(HasSubstr(who), HasSubstr("was killed (injected)")));
      }
      if (!was_killed) break;
    }
  EXPECT_GT(kills, 20);
}

TEST(AsyncSave, RefusesWhatMakesNoSense) {
  World world({.ranks = 1, .deputies = 1});
  auto outcome = world.run([&](Rank&) {
    StateDict state = sample_state(init_device_mesh({1}), sample_tensors(Replicate()), 1);
    Location location = round_of(std::make_shared<MemoryStore>(), 1);
    EXPECT_THAT(error_text([&] { async_save(state, location, {.background = {.in_flight = 0}}); }),
                HasSubstr("expected at least one save in flight, got 0"));
    EXPECT_THAT(error_text([&] { async_save(state, location, {.background = {.write_gb_s = 0}}); }),
                HasSubstr("expected a write_gb_s above 0, got 0"));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  run_world(1, [] {
    StateDict state = sample_state(init_device_mesh({1}), sample_tensors(Replicate()), 1);
    EXPECT_THAT(
        error_text([&] { async_save(state, round_of(std::make_shared<MemoryStore>(), 1)); }),
        HasSubstr("WorldOptions::deputies of at least 1, got 0"));
  });
}

double exposed_us(const Outcome& outcome, const std::string& stream) {
  for (const DeviceReport::Stream& found : outcome.devices[0].streams)
    if (found.name == stream) return found.exposed_us;
  return -1;
}

// 2^20 bytes at 1 GB/s take 2^-10 s. Training waits for each copy, in device and host memory. The
// second save waits for the first one, and the third for the second one.
TEST(AsyncSave, SaysHowLongTrainingStoodStill) {
  constexpr double at_one_gb_s = 1e6 / 1024;
  for (std::size_t in_flight : {1, 2}) {
    DeviceModel device{.launch_us = 0, .memory_gb_s = 1, .host_gb_s = 0.5};
    World world({.ranks = 1, .deputies = 1, .device = device});
    auto store = std::make_shared<MemoryStore>();
    auto outcome = world.run([&](Rank&) {
      StateDict state;
      state.add("model.weight", zeros({1 << 18}, DType::float32));
      for (int round : {1, 2, 3})
        async_save(state, round_of(store, round),
                   {.background = {.in_flight = in_flight, .write_gb_s = 0.125}});
    });
    ASSERT_TRUE(outcome.ok()) << report(outcome);
    EXPECT_EQ(exposed_us(outcome, "checkpoint copies"), 3 * (1 + 2) * at_one_gb_s);
    // With room for two, the third one waits for the first.
    EXPECT_EQ(exposed_us(outcome, "checkpoint writer"),
              in_flight == 1 ? 2 * 8 * at_one_gb_s : (8 - 3) * at_one_gb_s);
  }
}

}  // namespace
}  // namespace simmesh::checkpoint
