#include "training/router_needs.h"

#include <gtest/gtest.h>

#include "core/nn/moe.h"

namespace simmesh {
namespace {

RouterNeeds needs_of(const nn::Moe::Options& options, std::int64_t micro_batches) {
  nn::Moe moe(options);
  return router_needs(moe, micro_batches);
}

// Without a plan a capacity would be that of a micro-batch; a needless one costs a forward pass.
TEST(RouterNeeds, PlanWhatDependsOnLaterTokens) {
  nn::Moe::Options options{4, 4, 2};
  EXPECT_FALSE(needs_of(options, 2).plan || needs_of(options, 2).loss);
  options.router.z_loss = 0.1;
  EXPECT_TRUE(!needs_of(options, 2).plan && needs_of(options, 2).loss);
  options.router.aux_loss = 0.1;
  EXPECT_TRUE(needs_of(options, 2).plan && !needs_of(options, 1).plan);
  options.router = {};
  options.capacity_factor = 1.0;
  EXPECT_TRUE(needs_of(options, 2).plan && !needs_of(options, 2).loss);
}

}  // namespace
}  // namespace simmesh
