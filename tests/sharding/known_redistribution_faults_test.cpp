#include "collectives/collectives.h"
#include "core/ops/elementwise/pointwise.h"
#include "sharding/placement/shard_rule.h"
#include "tests/sharding/known_faults.h"

// Known faults of redistributions, meshes, and of running all ranks in one process.
//
// Tested elsewhere:
//   110762, 144109: DTensor.FromLocalRefusesUnevenPiecesWithoutAShape
//   172478: DTensor.RanksOutsideTheMeshHoldNothing
//   2.13 strided gathers for free: RedistributeCost.StridedShardsCostTheirWayThroughReplicate
//   2.13 plans that depend on earlier ones: Planner.PlansHaveNoHistory
//   2.13 caches keyed by one rank: PlanCache.EveryRankGetsTheSamePlans
//   2.13 undecodable nested strided shards: RedistributeOracle.TwoMeshDims
//   169381: DeviceMeshSlicing.UnitDimsStandAnywhere
//   138945: DeviceMeshSlicing.AgreesWithNestedArrays
//   161311: DeviceMeshSlicing.FlattenedNamesLiveInTheRoot
//   2.13 _unflatten of a named dim: DeviceMeshSlicing.UnflattenedDimsAgreeWithNestedArrays
//   2.13 a mesh without dims: DeviceMesh.WithoutDimsItsRankIsAMember
//   124555: StateMap.EachRankKeepsItsOwn
//   90159, 90504: World.TheFirstFailureInRankOrderIsReportedUnderEverySchedule
//   2.13 send passes a reference: Work.WritesAfterTheStartDoNotShow
//   2.13 a receive that nobody answers: Deadlock.AReceiveFromAnySourceThatNobodyServesIsOne
//
// 172812 is of local_map, which the project doesn't have: a function of the pieces is called
// between to_local and from_local, as UnevenPiecesAreMappedInPlace172812 shows.
namespace simmesh::known_faults {

// 194457: a gather over a flattened mesh mixed up uneven nested shards.
SIMMESH_TEST(KnownRedistributionFaults, MergedGathersOfUnevenNestedShards194457,
             {.mesh = {2, 3}, .names = {"a", "b"}, .schedules = 4}) {
  DeviceMesh flat = mesh.flatten("flat");
  for (std::int64_t rows = 0; rows <= 13; ++rows) {
    Tensor values = formula({rows, 2}, {.rule = Rule::small, .seed = 8});
    DTensor x = distribute_tensor(values, mesh, {Shard(0), Shard(0)});
    EXPECT_SAME_BITS(x.full_tensor(), values);
    DTensor y = distribute_tensor(values, mesh, {Shard(1), Shard(0)});
    EXPECT_SAME_BITS(y.full_tensor(), values);
  }
}

// 115310, PR 115525: the whole of an uneven tensor on two mesh dims hung or had another size.
// 103306: a gather of uneven pieces kept their padding.
SIMMESH_TEST(KnownRedistributionFaults, WholeTensorsOfUnevenPieces115310,
             {.mesh = {2, 2}, .schedules = 4}) {
  Tensor values = numbers({5, 3});
  for (const Placements& placements : small_worlds::lists(2, {whole, Shard(0), Shard(1)})) {
    DTensor x = distribute_tensor(values, mesh, placements);
    EXPECT_SAME_BITS(x.full_tensor(), values);
    EXPECT_EQ(to_string(x.redistribute({whole, whole}).local().shape()), "[5, 3]");
  }
}

// 168134, 163843, 150146, 170914: uneven strided shards were cut wrongly, or lost what wasn't
// padding.
SIMMESH_TEST(KnownRedistributionFaults, UnevenStridedShards168134, {.mesh = {3}, .schedules = 4}) {
  for (std::int64_t rows = 1; rows <= 9; ++rows)
    for (std::int64_t factor : {2, 3}) {
      Tensor values = formula({rows, 2}, {.rule = Rule::small, .seed = 9});
      Placement strided = StridedShard(0, factor);
      DTensor x = distribute_tensor(values, mesh, {strided});
      EXPECT_SAME_BITS(x.full_tensor(), values);
      DTensor there = distribute_tensor(values, mesh, {Shard(1)}).redistribute({strided});
      EXPECT_SAME_BITS(there.local(), x.local());
      EXPECT_SAME_BITS(there.redistribute({Shard(0)}).full_tensor(), values);
    }
}

// 168134: of 5 rows, in 2 pieces for 2 ranks each, the first rank has rows 0, 1 and 3.
SIMMESH_TEST(KnownRedistributionFaults, StridedShardsTakeTheirPartOfEachPiece168134,
             {.mesh = {2}, .schedules = 2}) {
  Tensor rows = tensor_of<float>({5}, {0, 1, 2, 3, 4});
  Tensor piece = distribute_tensor(rows, mesh, {StridedShard(0, 2)}).local();
  EXPECT_SAME_BITS(piece, mesh.get_rank() == 0 ? tensor_of<float>({3}, {0, 1, 3})
                                               : tensor_of<float>({2}, {2, 4}));
}

// 118836: the strides of an uneven piece were those of an even one.
SIMMESH_TEST(KnownRedistributionFaults, StridesOfUnevenPieces118836,
             {.mesh = {2}, .schedules = 2}) {
  Tensor piece = distribute_tensor(numbers({2, 5}), mesh, {Shard(1)}).local();
  EXPECT_EQ(piece.strides()[0], mesh.get_rank() == 0 ? 3 : 2);
  EXPECT_TRUE(piece.is_contiguous());
}

// 172812: results of a function on uneven pieces were joined as if the pieces were even.
SIMMESH_TEST(KnownRedistributionFaults, UnevenPiecesAreMappedInPlace172812,
             {.mesh = {2}, .schedules = 4}) {
  Tensor values = numbers({5, 2});
  DTensor x = distribute_tensor(values, mesh, {Shard(0)});
  DTensor y = from_local(mul(x.to_local(), 2), mesh, {Shard(0)}, {.shape = x.shape()});
  EXPECT_SAME_BITS(y.full_tensor(), mul(values, 2));
}

// 2.13: the members of a group were in ascending order while coordinates follow the mesh. 192332,
// PR 192777: permuted groups were refused, and a root was read as a rank of the world.
SIMMESH_TEST(KnownRedistributionFaults, PermutedMeshes192332, {.mesh = {4}, .schedules = 4}) {
  DeviceMesh permuted = DeviceMesh::from_ranks(mesh.viewer(), RankList::of({3, 1, 0, 2}), {4});
  Tensor values = numbers({7, 3});
  DTensor x = distribute_tensor(values, permuted, {Shard(0)});
  EXPECT_SAME_BITS(x.full_tensor(), values);
  EXPECT_SAME_BITS(x.redistribute({Shard(1)}).full_tensor(), values);
  Tensor own = full({2}, DType::float32, double(mesh.get_rank()));
  broadcast_(own, 0, process_group(permuted));
  EXPECT_SAME_BITS(own, full({2}, DType::float32, 3));
}

// 2.13: the in-place reduce-scatter lost the rows that don't divide.
SIMMESH_TEST(KnownRedistributionFaults, ReduceScatterOfRowsThatDontDivide213,
             {.mesh = {2}, .schedules = 4}) {
  Tensor out = zeros({2}, DType::float32);
  testing::expect_error(
      [&] { reduce_scatter_(out, numbers({5}), ReduceOp::sum, {}, process_group(mesh)); },
      ErrorKind::assertion_error, "5");
  DTensor partial = from_local(numbers({5}), mesh, {total});
  EXPECT_SAME_BITS(partial.redistribute({Shard(0)}).full_tensor(), mul(numbers({5}), 2));
}

// 2.13: the list form of all-gather gave all ranks the data of the last sibling group.
SIMMESH_TEST(KnownRedistributionFaults, GathersOfSiblingGroups213,
             {.mesh = {2, 2}, .schedules = 4}) {
  Tensor own = full({2}, DType::float32, double(mesh.get_rank()));
  std::int64_t row = (*mesh.get_coordinate())[0];
  std::vector<Tensor> all = all_gather_list(own, process_group(mesh, 1));
  ASSERT_EQ(all.size(), 2u);
  for (std::int64_t i : {0, 1})
    EXPECT_SAME_BITS(all[std::size_t(i)], full({2}, DType::float32, double(2 * row + i)));
}

// 2.13: an average of integers changed its dtype or was cut off.
SIMMESH_TEST(KnownRedistributionFaults, AveragesOfIntegers213, {.mesh = {2}, .schedules = 4}) {
  DTensor x = from_local(tensor_of<std::int64_t>({2}, {1, 2}), mesh, {average});
  testing::expect_error([&] { x.full_tensor(); }, ErrorKind::type_error, "int64");
}

}  // namespace simmesh::known_faults
