#include "sharding/placement/local_shape.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/sharding/recorded_cases.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

using recorded::Json;

// If this fails, a rank's shape or offset differs from PyTorch's.
TEST(LocalShape, MatchesTheRecordedCases) {
  std::size_t ranks = 0;
  for (const Json& record : recorded::read("local_shape.jsonl")) {
    SCOPED_TRACE(record["id"].get<std::string>());
    const Shape shape = recorded::dims(record["tensor"]["shape"]);
    const Dims mesh_shape = recorded::dims(record["mesh"]["shape"]);
    const Placements placements = recorded::placements(record["placements"]);
    Dims coordinate(mesh_shape.size(), 0);
    for (const Json& local : record["local"]) {
      const LocalShape expected{recorded::dims(local["shape"]), recorded::dims(local["offset"])};
      EXPECT_EQ(compute_local_shape_and_global_offset(shape, mesh_shape, coordinate, placements),
                expected)
          << to_string(coordinate);
      next_index(coordinate, mesh_shape);
      ++ranks;
    }
  }
  EXPECT_GT(ranks, 2000u);
}

// If this fails, some element of a sharded tensor is held by no rank, or by two: for every size
// 0..17, small mesh and list of shards, plain and strided.
TEST(LocalShape, PiecesPartitionTheDim) {
  std::vector<Dims> meshes = {{2, 2}, {2, 3}, {2, 2, 2}};
  for (std::int64_t members = 1; members <= 8; ++members) meshes.push_back({members});
  for (const Dims& mesh : meshes) {
    for (const Placements& list :
         small_worlds::lists(mesh.size(), parse_placements("R,S(0),_S(0,2),_S(0,3)"))) {
      for (std::int64_t size = 0; size <= 17; ++size) {
        std::vector<std::int64_t> holders(static_cast<std::size_t>(size), 0);
        std::int64_t copies = 1;
        for (std::size_t dim = 0; dim < mesh.size(); ++dim)
          if (!list[dim].splits()) copies *= mesh[dim];
        Dims coordinate(mesh.size(), 0);
        do {
          std::int64_t count = 0;
          for (const IndexRun& run : local_index_runs(Dims{size}, 0, mesh, coordinate, list)) {
            count += run.length;
            for (std::int64_t index = run.start; index < run.end(); ++index)
              ++holders[static_cast<std::size_t>(index)];
          }
          EXPECT_EQ(compute_local_shape_and_global_offset(Dims{size}, mesh, coordinate, list).shape,
                    Dims{count});
        } while (next_index(coordinate, mesh));
        for (std::int64_t count : holders)
          EXPECT_EQ(count, copies) << size << " " << to_string(list) << to_string(mesh);
      }
    }
  }
}

// If this fails, a shard order isn't the application of the shards one after the other.
TEST(LocalShape, OrdersApplyTheGivenShardFirst) {
  const auto list = parse_placements("S(0),S(0)");
  const ShardOrder order = ShardOrder::of({{0, {1, 0}}}, list);
  // Mesh dim 1 cuts 7 rows into 3, 3, 1; mesh dim 0 cuts these in two.
  const auto rows = [&](std::int64_t outer, std::int64_t inner) {
    return local_index_runs(Dims{7}, 0, Dims{2, 3}, Dims{outer, inner}, list, order);
  };
  EXPECT_EQ(rows(0, 1), (IndexRuns{{3, 2}}));
  EXPECT_EQ(rows(1, 1), (IndexRuns{{5, 1}}));
  EXPECT_EQ(rows(0, 2), (IndexRuns{{6, 1}}));
  EXPECT_EQ(rows(1, 2), IndexRuns{});
  EXPECT_EQ(compute_local_shape_and_global_offset(Dims{7}, Dims{2, 3}, Dims{1, 2}, list, order),
            (LocalShape{{0}, {7}}));
}

// If this fails, strided shards count as their decoded order where the pieces differ, or the other
// way round.
TEST(LocalShape, SamePiecesComparesEveryRank) {
  const auto same = [](std::int64_t size, const char* left, const Dims& mesh) {
    const Sharding sharding{parse_placements(left), {}};
    return same_pieces(Dims{size, 2}, mesh, sharding, *decode_strided(sharding, mesh));
  };
  for (std::int64_t size = 0; size <= 40; size += 8)
    EXPECT_TRUE(same(size, "_S(0,2),S(0)", {4, 2}));
  EXPECT_TRUE(same(13, "_S(0,3),S(0)", {2, 3}));
  EXPECT_FALSE(same(13, "_S(0,2),S(0)", {3, 2}));
  EXPECT_FALSE(same(17, "_S(0,2),S(0)", {4, 2}));
  const Sharding rows{parse_placements("S(0)"), {}}, columns{parse_placements("S(1)"), {}};
  EXPECT_FALSE(same_pieces(Dims{4, 4}, Dims{2}, rows, columns));
  EXPECT_TRUE(same_pieces(Dims{4, 4}, Dims{1}, rows, columns));
  // Without elements the shapes decide.
  const Sharding strided{parse_placements("_S(0,2)"), {}};
  EXPECT_FALSE(same_pieces(Dims{4, 1}, Dims{2}, rows, strided));
  EXPECT_TRUE(same_pieces(Dims{4, 0}, Dims{2}, rows, strided));
  EXPECT_FALSE(same_pieces(Dims{5, 0}, Dims{2}, rows, {parse_placements("_S(0,5)"), {}}));
}

// If this fails, misuse ends in a wrong answer or a crash and not in an error.
TEST(LocalShape, MisuseIsRefused) {
  const auto list = parse_placements("S(0),R");
  const auto call = [&](const Dims& shape, const Dims& mesh, const Dims& coordinate,
                        const Placements& placements) {
    compute_local_shape_and_global_offset(shape, mesh, coordinate, placements);
  };
  EXPECT_THROW(call({4}, {2}, {0}, list), Error);
  EXPECT_THROW(call({4}, {2, 2}, {0}, list), Error);
  EXPECT_THROW(call({4}, {2, 2}, {0, 2}, list), Error);
  EXPECT_THROW(call({4}, {2, 2}, {-1, 0}, list), Error);
  EXPECT_THROW(call({}, {2, 2}, {0, 0}, list), Error);
  EXPECT_THROW(call({4}, {2}, {0}, parse_placements("S(1)")), Error);
  EXPECT_THROW(call({4}, {2}, {0}, parse_placements("S(-1)")), Error);
  EXPECT_THROW(local_index_runs(Dims{4}, 1, Dims{2}, Dims{0}, parse_placements("S(0)")), Error);
}

}  // namespace
}  // namespace simmesh
