#include "fsdp/state_dict/load_source.h"

#include <gtest/gtest.h>

#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh::fsdp {
namespace {

// If this fails, ranks load other names or values than rank 0 has, or hang over one that only some
// of them ask for.
SIMMESH_TEST(LoadSource, BroadcastsWhatRankZeroHas, {.mesh = {2}}) {
  nn::StateDict own;
  if (mesh.get_rank() == 0)
    own = {{"weight", formula({2, 3}, {.seed = 5})}, {"steps", tensor_of<std::int64_t>({}, {7})}};
  else
    own = {{"of another rank", tensor_of<float>({1}, {1})}};
  LoadSource source(own, true);
  ASSERT_EQ(source.entries().size(), 2u);
  EXPECT_FALSE(source.find("of another rank"));
  const LoadSource::Entry* weight = source.find("weight");
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->shape, (Shape{2, 3}));
  EXPECT_SAME_BITS(source.value(*weight), formula({2, 3}, {.seed = 5}));
  EXPECT_EQ(to_string(source.value(*source.find("steps"))), "int64[] {7}");
}

SIMMESH_TEST(LoadSource, TakesEachRanksOwnWhereAllHaveThem, {.mesh = {2}}) {
  Tensor own = formula({2}, {.seed = std::uint64_t(mesh.get_rank())});
  LoadSource source({{"own", own}}, false);
  EXPECT_SAME_BITS(source.value(*source.find("own")), own);
}

SIMMESH_TEST(LoadSource, RefusesCutTensorsOnRankZeroOnAllRanks, {.mesh = {2}}) {
  Tensor cut = distribute_tensor(formula({4}, {}), mesh, {Shard(0)}).as_tensor();
  simmesh::testing::expect_error(
      [&] {
        LoadSource({{"cut", cut}}, true);
      },
      ErrorKind::value_error, "expected whole tensors on rank 0");
}

// If this fails, a rank takes another part of a loaded tensor than its parameter has.
SIMMESH_TEST(LoadSource, ValuesArePlacedAsTheParameterLies, {.mesh = {2}}) {
  Tensor whole = formula({5, 2}, {.seed = 3});
  DTensor rows = distribute_tensor(whole, mesh, {Shard(0)});
  Tensor placed = placed_as(rows.spec(), whole);
  EXPECT_SAME_BITS(DTensor::of(placed).local(), rows.local());
  Tensor columns = distribute_tensor(whole, mesh, {Shard(1)}).as_tensor();
  EXPECT_SAME_BITS(DTensor::of(placed_as(rows.spec(), columns)).local(), rows.local());
  EXPECT_SAME_BITS(placed_as({}, whole), whole);
}

}  // namespace
}  // namespace simmesh::fsdp
