#include "checkpoint/save_load/local_load.h"

#include <gmock/gmock.h>

#include "checkpoint/save_load/local_record.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using testing::has_round;
using ::testing::HasSubstr;
using testing::sample_state;
using testing::sample_tensors;

constexpr std::int64_t local_ranks = 3;

Location saved_locally(SaveLayout layout) {
  Location location = {std::make_shared<MemoryStore>(), "state"};
  testing::run_world(local_ranks, [&] {
    DeviceMesh mesh = init_device_mesh({local_ranks});
    save(sample_state(mesh, sample_tensors(Shard(0)), 5), location,
         {.layout = layout, .keeps_local = true});
  });
  return location;
}

MemoryStore& memory_of(const Location& location) {
  return static_cast<MemoryStore&>(*location.store);
}

// Loads under several schedules, and returns the way of all ranks.
LoadWay way_of(const Location& location, std::int64_t ranks, const Placement& placement) {
  LoadWay way = LoadWay::planned;
  for (const Schedule& schedule :
       {Schedule::fifo(), Schedule::seeded(3), Schedule::pct({.depth = 3})}) {
    std::vector<LoadWay> ways(static_cast<std::size_t>(ranks));
    World world({.ranks = std::size_t(ranks), .schedule = schedule});
    auto outcome = world.run([&](Rank& rank) {
      DeviceMesh mesh = init_device_mesh({ranks});
      std::vector<testing::SampleTensor> samples = sample_tensors(placement);
      StateDict state = sample_state(mesh, samples, 0);
      ways[std::size_t(rank.id())] = load(state, location).way;
      EXPECT_TRUE(has_round(state, samples, 5));
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
    EXPECT_EQ(ways, std::vector<LoadWay>(ways.size(), ways[0])) << "ranks decided differently";
    way = ways[0];
  }
  return way;
}

// If nothing has changed, each rank reads only its own files. The others' and the manifest may be
// gone.
TEST(LocalLoad, ReadsOnlyARanksOwnFiles) {
  for (SaveLayout layout : {SaveLayout::one_file, SaveLayout::modular}) {
    Location location = saved_locally(layout);
    EXPECT_EQ(way_of(location, local_ranks, Shard(0)), LoadWay::local);
    location.store->remove("state/manifest.json");
    EXPECT_EQ(way_of(location, local_ranks, Shard(0)), LoadWay::local);
    for (std::int64_t rank = 0; rank < local_ranks; ++rank) {
      LocalRecord record = *read_local(*location.store, "state", rank);
      std::string own = local_file(rank).substr(0, 10);
      for (const StoredTensor& tensor : record.catalog.tensors)
        for (const StoredChunk& chunk : tensor.chunks) EXPECT_THAT(chunk.file, HasSubstr(own));
    }
  }
}

// With another world or other boxes, all ranks take the general way.
TEST(LocalLoad, GivesWayToAPlanWhereSomethingChanged) {
  Location location = saved_locally(SaveLayout::one_file);
  for (std::int64_t ranks : {1, 2, 4})
    EXPECT_EQ(way_of(location, ranks, Shard(0)), LoadWay::planned);
  EXPECT_EQ(way_of(location, local_ranks, Replicate()), LoadWay::planned);
  Location without = {std::make_shared<MemoryStore>(), "state"};
  testing::run_world(local_ranks, [&] {
    DeviceMesh mesh = init_device_mesh({local_ranks});
    save(sample_state(mesh, sample_tensors(Shard(0)), 5), without);
  });
  EXPECT_EQ(way_of(without, local_ranks, Shard(0)), LoadWay::planned);
}

// If one rank has no record, or a broken one, all ranks take the general way.
TEST(LocalLoad, OneRankDecidesForAll) {
  for (std::int64_t rank = 0; rank < local_ranks; ++rank) {
    Location gone = saved_locally(SaveLayout::one_file);
    gone.store->remove("state/" + local_file(rank));
    EXPECT_EQ(way_of(gone, local_ranks, Shard(0)), LoadWay::planned);
    Location broken = saved_locally(SaveLayout::one_file);
    memory_of(broken).flip("state/" + local_file(rank), 30, 1);
    EXPECT_EQ(way_of(broken, local_ranks, Shard(0)), LoadWay::planned);
  }
}

// If one rank wants another name, all ranks compare names together, and raise the same error.
TEST(LocalLoad, OneRankThatWantsMoreIsToldByTheGeneralWay) {
  Location location = saved_locally(SaveLayout::one_file);
  for (std::size_t asking = 0; asking < std::size_t(local_ranks); ++asking)
    for (const Schedule& schedule : {Schedule::fifo(), Schedule::seeded(3)}) {
      World world({.ranks = std::size_t(local_ranks), .schedule = schedule});
      auto outcome = world.run([&](Rank& rank) {
        DeviceMesh mesh = init_device_mesh({local_ranks});
        StateDict state = sample_state(mesh, sample_tensors(Shard(0)), 0);
        if (std::size_t(rank.id()) == asking) state.add("epoch", std::int64_t{0});
        EXPECT_THAT(error_text([&] { load(state, location); }),
                    HasSubstr("not in the checkpoint: epoch"));
        LoadReport report = load(state, location, {.allow_missing = true});
        EXPECT_EQ(report.way, LoadWay::planned);
        EXPECT_TRUE(has_round(state, sample_tensors(Shard(0)), 5));
      });
      EXPECT_TRUE(outcome.ok()) << report(outcome);
    }
}

// Bytes are compared with their hashes on this way, too. An option turns the way off.
TEST(LocalLoad, FindsWhatIsCorrupt) {
  Location location = saved_locally(SaveLayout::one_file);
  auto load_round = [&](const LoadOptions& options) {
    DeviceMesh mesh = init_device_mesh({local_ranks});
    StateDict state = sample_state(mesh, sample_tensors(Shard(0)), 0);
    return load(state, location, options).way;
  };
  testing::run_world(local_ranks, [&] {
    EXPECT_EQ(load_round({.uses_local = false}), LoadWay::planned);
    EXPECT_EQ(load_round({}), LoadWay::local);
  });
  std::string file = "state/rank_00001.safetensors";
  memory_of(location).flip(file, *location.store->size(file) - 1, 2);
  testing::run_world(local_ranks, [&] {
    EXPECT_THAT(error_text([&] { load_round({}); }), HasSubstr("is corrupt"));
  });
}

}  // namespace
}  // namespace simmesh::checkpoint
