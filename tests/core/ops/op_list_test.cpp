#include "core/ops/op_list.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "core/ops/registry/registry.h"

namespace simmesh {
namespace {

// If this fails, ops of a family are lost, or come in another order than the family adds them.
TEST(OpList, KeepsAllOpsInTheirOrder) {
  const Op first{.name = "first"}, second{.name = "second"}, third{.name = "third"};
  OpList ops;
  ops.add({&first, &second});
  ops.add({&third});
  ASSERT_EQ(ops.all().size(), 3u);
  EXPECT_EQ(ops.all()[0], &first);
  EXPECT_EQ(ops.all()[2], &third);
}

// If this fails, the registry doesn't know an op of some family.
TEST(OpList, CollectsTheOpsOfTheRegistry) {
  OpList collected = collected_ops();
  EXPECT_EQ(collected.all().size(), all_ops().size());
  for (const Op* op : collected.all()) EXPECT_EQ(find_op(op->name), op) << op->name;
}

}  // namespace
}  // namespace simmesh
