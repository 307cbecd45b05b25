#include "sharding/propagation/propagation_request.h"

#include <gtest/gtest.h>

#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/registry/registry.h"

namespace simmesh {
namespace {

// A cache takes one call for another that differs in one thing.
TEST(PropagationRequest, IsEqualOnlyWhereEverythingIs) {
  const PropagationRequest first{.op = find_op("add"),
                                 .attributes = {attribute::other = 2.0},
                                 .inputs = {{{4}}},
                                 .given = {Sharding{{Shard(0)}, {}}},
                                 .mesh_shape = {2}};
  EXPECT_EQ(first, PropagationRequest(first));
  EXPECT_EQ(to_string(first), "add of float32[4](S(0)) on mesh [2]");
  auto differs = [&](auto change) {
    PropagationRequest other = first;
    change(other);
    return !(first == other);
  };
  EXPECT_TRUE(differs([](auto& r) { r.op = find_op("sub"); }));
  EXPECT_TRUE(differs([](auto& r) { r.attributes = {attribute::other = 3.0}; }));
  EXPECT_TRUE(differs([](auto& r) { r.inputs[0].shape = {5}; }));
  EXPECT_TRUE(differs([](auto& r) { r.given[0]->placements[0] = Replicate(); }));
  EXPECT_TRUE(differs([](auto& r) { r.mesh_shape = {3}; }));
  EXPECT_TRUE(differs([](auto& r) { r.destination = Destination::in_place; }));
  EXPECT_TRUE(differs([](auto& r) { r.out = Sharding{{Shard(0)}, {}}; }));
  EXPECT_TRUE(differs([](auto& r) { r.keeps_bits = true; }));
  EXPECT_TRUE(differs([](auto& r) { r.topology.devices_per_host = 8; }));
}

}  // namespace
}  // namespace simmesh
