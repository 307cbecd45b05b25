#include "sharding/propagation/propagation_cache.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

// Every rank works out anew what another has found, or the cache grows without end.
TEST(PropagationCache, RanksShareAnswersAndForgetTheOldest) {
  World world({.ranks = 4});
  Outcome outcome = world.run([](Rank&) {
    DeviceMesh mesh = init_device_mesh({4}, {"a"});
    auto run_all = [&] {
      for (std::int64_t size = 1; size <= 1100; ++size) {
        DTensor x = distribute_tensor(zeros({size}, DType::float32), mesh, {Replicate()},
                                      {.from_first_rank = false});
        neg(x);
      }
    };
    run_all();
    EXPECT_EQ(propagation_cache_info().misses, 1100u);
    EXPECT_LE(propagation_cache_info().size, 256u);
    EXPECT_LE(world_propagation_cache_info().size, 1024u);
  });
  ASSERT_TRUE(outcome.ok()) << outcome.failure->message;
  Outcome shared = world.run([](Rank&) {
    DeviceMesh mesh = init_device_mesh({4}, {"a"});
    DTensor x = distribute_tensor(zeros({7}, DType::float32), mesh, {Shard(0)});
    auto before = world_propagation_cache_info();
    barrier(process_group(mesh, 0));
    neg(x);
    barrier(process_group(mesh, 0));
    EXPECT_EQ(world_propagation_cache_info().misses - before.misses, 1u);
    neg(x);
    EXPECT_EQ(propagation_cache_info(), (PropagationCacheInfo{1, 1, 1}));
  });
  ASSERT_TRUE(shared.ok()) << shared.failure->message;
}

}  // namespace
}  // namespace simmesh
