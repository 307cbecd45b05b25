#include "core/ops/op_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ops/registry/registry.h"

namespace simmesh {
namespace {

TEST(OpList, HasTheOpsOfAllFamiliesThatWereAdded) {
  Op first = {.name = "first"}, second = {.name = "second"}, third = {.name = "third"};
  OpList ops;
  ops.add({&first, &second});
  ops.add({&third});
  EXPECT_THAT(ops.all(), ::testing::ElementsAre(&first, &second, &third));
}

// A family whose source isn't found would be missing in every table.
TEST(OpList, CollectsFamiliesOfEveryRoom) {
  OpList ops = collected_ops();
  EXPECT_EQ(ops.all().size(), all_ops().size());
  for (const char* name : {"view", "add", "gather", "sum", "mm", "bernoulli", "mse_loss"})
    EXPECT_THAT(ops.all(), ::testing::Contains(find_op(name))) << name;
}

}  // namespace
}  // namespace simmesh
