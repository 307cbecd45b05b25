#include <cstdio>
#include <gmock/gmock.h>

#include "checkpoint/store/faulty_store.h"
#include "checkpoint/store/memory_store.h"
#include "checkpoint/tools/verify.h"
#include "core/check/error.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/checkpoint/worlds.h"

namespace simmesh::checkpoint {
namespace {

using testing::has_round;
using testing::run_world;
using testing::sample_state;
using testing::sample_tensors;

constexpr std::int64_t ranks = 2;

// The options of the saves of a test.
struct FaultsCase {
  const char* name;
  SaveLayout layout;
  bool keeps_local;
};

constexpr FaultsCase faults_cases[] = {{"one file a rank", SaveLayout::one_file, false},
                                       {"modular, with local records", SaveLayout::modular, true}};

void save_round(const std::shared_ptr<Store>& store, std::uint64_t round,
                const FaultsCase& one = faults_cases[0]) {
  World world({.ranks = std::size_t(ranks)});
  auto outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({ranks});
    Location location = {store, "round_" + std::to_string(round)};
    save(sample_state(mesh, sample_tensors(Shard(0)), round), location,
         {.commit = {.keep = 1}, .layout = one.layout, .keeps_local = one.keeps_local});
  });
  (void)outcome;  // the store shows the effect of a fault
}

// Returns the round of the latest checkpoint of a store. Raises if it can't be loaded or is a mix.
std::uint64_t loaded_round(const std::shared_ptr<Store>& store) {
  std::optional<Location> location = latest(store);
  if (!location) return 0;
  std::uint64_t round = 0;
  run_world(ranks, [&] {
    DeviceMesh mesh = init_device_mesh({ranks});
    StateDict state = sample_state(mesh, sample_tensors(Shard(0)), 0);
    load(state, *location);
    auto step = std::uint64_t(state.number("step"));
    EXPECT_TRUE(has_round(state, sample_tensors(Shard(0)), step)) << "a mix";
    EXPECT_EQ(location->name, "round_" + std::to_string(step));
    if (this_rank().id() == 0) round = step;
  });
  return round;
}

// Returns a store with the checkpoint of round 1, as after a restart of the machine.
MemoryStore with_first_round(const FaultsCase& one = faults_cases[0]) {
  auto store = std::make_shared<MemoryStore>();
  save_round(store, 1, one);
  return store->stopped(MemoryStore::After::only_synced);
}

std::int64_t operations_of_a_save(const FaultsCase& one) {
  auto counting = std::make_shared<FaultyStore>(
      std::make_shared<MemoryStore>(with_first_round(one)), FaultyStore::Plan());
  save_round(counting, 2, one);
  return counting->operations();
}

void expect_stops_lose_nothing(const FaultsCase& one) {
  std::int64_t operations = operations_of_a_save(one), old_rounds = 0, new_rounds = 0;
  ASSERT_GT(operations, 10);
  for (auto fault : {FaultyStore::Fault::stop_before, FaultyStore::Fault::stop_after})
    for (std::int64_t operation = 1; operation <= operations; ++operation) {
      auto memory = std::make_shared<MemoryStore>(with_first_round(one));
      save_round(std::make_shared<FaultyStore>(memory, FaultyStore::Plan{fault, operation}), 2,
                 one);
      for (auto after : {MemoryStore::After::only_synced, MemoryStore::After::everything,
                         MemoryStore::After::half_of_each_file}) {
        auto left = std::make_shared<MemoryStore>(memory->stopped(after));
        std::uint64_t round = loaded_round(left);
        ASSERT_TRUE(round == 1 || round == 2) << one.name << ", operation " << operation;
        ++(round == 1 ? old_rounds : new_rounds);
        save_round(left, 3, one);
        ASSERT_EQ(loaded_round(left), 3u) << one.name << ", operation " << operation;
      }
    }
  EXPECT_GT(old_rounds, 0);
  EXPECT_GT(new_rounds, 0);
  std::printf(
      "%s: %lld stops of a save of %lld operations: the old checkpoint %lld times, the new one "
      "%lld times\n",
      one.name, 6 * static_cast<long long>(operations), static_cast<long long>(operations),
      static_cast<long long>(old_rounds), static_cast<long long>(new_rounds));
}

// The machine stops before or after every operation of a save, and has kept none, all or half of
// the unsynced bytes. Then the old or the new checkpoint loads, and a later save succeeds.
TEST(Faults, StoppingAtEveryOperationLosesNothing) {
  for (const FaultsCase& one : faults_cases) expect_stops_lose_nothing(one);
}

void expect_failures_lose_nothing(const FaultsCase& one) {
  std::int64_t operations = operations_of_a_save(one), errors = 0;
  for (auto fault :
       {FaultyStore::Fault::fail, FaultyStore::Fault::short_write, FaultyStore::Fault::disk_full})
    for (std::int64_t operation = 1; operation <= operations; ++operation) {
      auto memory = std::make_shared<MemoryStore>(with_first_round(one));
      auto faulty = std::make_shared<FaultyStore>(memory, FaultyStore::Plan{fault, operation});
      save_round(faulty, 2, one);
      std::uint64_t round = loaded_round(memory);
      ASSERT_TRUE(round == 1 || round == 2) << one.name << ": " << faulty->log().back();
      errors += round == 1;
      save_round(memory, 3, one);
      ASSERT_EQ(loaded_round(memory), 3u) << one.name << ": " << faulty->log().back();
    }
  EXPECT_GT(errors, 0);
  std::printf("%s: %lld failing operations, after %lld of which the old checkpoint is the latest\n",
              one.name, 3 * static_cast<long long>(operations), static_cast<long long>(errors));
}

// An operation fails, writes half, or finds the disk full. The program gets an error and continues.
TEST(Faults, FailingOperationsLoseNothing) {
  for (const FaultsCase& one : faults_cases) expect_failures_lose_nothing(one);
}

// Loads a checkpoint that is not what was saved, and returns the error.
std::string refusal(const std::shared_ptr<Store>& store, const std::string& name) {
  World world({.ranks = 1});
  auto outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({1});
    StateDict state = sample_state(mesh, sample_tensors(Replicate()), 0);
    load(state, {store, name});
  });
  return outcome.ok() ? "" : report(outcome);
}

void expect_flips_are_found(const FaultsCase& one) {
  MemoryStore saved = with_first_round(one);
  std::int64_t flips = 0;
  for (const std::string& file : saved.files("round_1"))
    for (std::int64_t byte = 0; byte < *saved.size("round_1/" + file); ++byte) {
      auto flipped = std::make_shared<MemoryStore>(saved.stopped(MemoryStore::After::everything));
      flipped->flip("round_1/" + file, byte, int(byte % 8));
      std::vector<std::string> problems = verify({flipped, "round_1"});
      ASSERT_FALSE(problems.empty()) << file << " byte " << byte;
      EXPECT_THAT(problems[0], ::testing::HasSubstr(file));
      ++flips;
    }
  std::printf("%s: %lld flipped bits, all found\n", one.name, static_cast<long long>(flips));
}

TEST(Faults, EveryFlippedBitIsFound) {
  for (const FaultsCase& one : faults_cases) expect_flips_are_found(one);
}

// A load that reads a corrupt byte would train on wrong weights.
TEST(Faults, AFlippedBitOfATensorIsNeverLoaded) {
  MemoryStore saved = with_first_round();
  for (const std::string& file : saved.files("round_1")) {
    if (!file.ends_with(".safetensors")) continue;
    auto flipped = std::make_shared<MemoryStore>(saved.stopped(MemoryStore::After::everything));
    flipped->flip("round_1/" + file, *saved.size("round_1/" + file) - 1, 3);
    EXPECT_THAT(refusal(flipped, "round_1"),
                ::testing::AllOf(::testing::HasSubstr(file), ::testing::HasSubstr("is corrupt"),
                                 ::testing::HasSubstr("bytes [")));
  }
}

TEST(Faults, MissingAndDoubledFilesAreFound) {
  MemoryStore saved = with_first_round();
  for (const std::string& file : saved.files("round_1")) {
    auto without = std::make_shared<MemoryStore>(saved.stopped(MemoryStore::After::everything));
    without->remove("round_1/" + file);
    EXPECT_NE(refusal(without, "round_1"), "") << file;
    EXPECT_FALSE(verify({without, "round_1"}).empty()) << file;
  }
  // Swaps the files of two ranks.
  auto doubled = std::make_shared<MemoryStore>(saved.stopped(MemoryStore::After::everything));
  std::vector<std::byte> other = read_file(*doubled, "round_1/rank_00001.safetensors", 1 << 20);
  doubled->remove("round_1/rank_00000.safetensors");
  doubled->create("round_1/rank_00000.safetensors")->append(other);
  EXPECT_NE(refusal(doubled, "round_1"), "");
  EXPECT_FALSE(verify({doubled, "round_1"}).empty());
  // Adds a file that no save wrote.
  auto more = std::make_shared<MemoryStore>(saved.stopped(MemoryStore::After::everything));
  more->create("round_1/rank_00009.safetensors")->append(other);
  EXPECT_THAT(verify({more, "round_1"}).at(0), ::testing::HasSubstr("rank_00009.safetensors"));
}

}  // namespace
}  // namespace simmesh::checkpoint
