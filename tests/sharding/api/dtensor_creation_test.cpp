#include <gtest/gtest.h>

#include "core/engine/world.h"
#include "mesh/device_mesh.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

// If this fails, a DTensor is cut as if it were a tensor with elements, which crashes.
TEST(DTensorCreation, TakesADTensorOnlyWhereItLiesSo) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank&) {
    DeviceMesh mesh = init_device_mesh({2});
    DTensor sharded = distribute_tensor(zeros({4, 2}, DType::float32), mesh, {Shard(0)});
    Tensor tensor = sharded.as_tensor();
    EXPECT_TRUE(distribute_tensor(tensor, mesh, {Shard(0)}).lies_like(sharded));
    expect_error([&] { distribute_tensor(tensor, mesh, {Shard(1)}); }, ErrorKind::value_error,
                 "a DTensor with the placements S(1), got S(0); use redistribute");
    DeviceMesh other = init_device_mesh({1, 2});
    expect_error(
        [&] {
          distribute_tensor(tensor, other, {Replicate(), Shard(0)});
        },
        ErrorKind::value_error, "got one of another mesh");
    expect_error([&] { from_local(tensor, mesh, {Shard(0)}); }, ErrorKind::runtime_error,
                 "as a plain tensor, got a DTensor");
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
