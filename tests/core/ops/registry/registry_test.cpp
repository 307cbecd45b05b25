#include "core/ops/registry/registry.h"

#include <gtest/gtest.h>
#include <set>

namespace simmesh {
namespace {

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Op* op : all_ops()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_EQ(find_op(op->name), op);
  }
  EXPECT_EQ(find_op("no such op"), nullptr);
  EXPECT_EQ(find_op(""), nullptr);
}

TEST(Registry, EveryOpHasOneWayToRun) {
  for (const Op* op : all_ops()) {
    EXPECT_NE(bool(op->view), op->shape && op->kernel) << op->name;
    EXPECT_EQ(bool(op->shape), bool(op->kernel)) << op->name;
  }
}

// A gradient in the op itself would duplicate the one of core/gradients.
TEST(Registry, OpsOfTheLibraryBringNoGradientAlong) {
  for (const Op* op : all_ops()) {
    EXPECT_FALSE(op->gradient.rule) << op->name;
    EXPECT_EQ(op->gradient.saves.inputs | op->gradient.saves.outputs, 0u) << op->name;
  }
}

}  // namespace
}  // namespace simmesh
