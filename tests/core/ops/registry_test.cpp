#include <gtest/gtest.h>
#include <set>

#include <simmesh/core/ops/registry.h>

namespace simmesh {
namespace {

// Ops with floating outputs that have no gradient, and why.
const std::set<std::string> without_gradient = {
    "histc",            // counts
    "linalg_cholesky",  // decompositions have none
    "linalg_det",      "linalg_eigh", "linalg_inv", "linalg_qr", "linalg_solve",
    "new_zeros",  // constant
};

// Ops whose outputs are indices, flags or counts of an integer dtype.
const std::set<std::string> integer_outputs = {"one_hot", "searchsorted"};

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Op* op : all_ops()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_EQ(find_op(op->name), op);
  }
  EXPECT_EQ(find_op("no such op"), nullptr);
}

TEST(Registry, EveryOpHasOneWayToRun) {
  for (const Op* op : all_ops()) {
    EXPECT_NE(bool(op->view), op->shape && op->kernel) << op->name;
    EXPECT_EQ(bool(op->shape), bool(op->kernel)) << op->name;
  }
}

TEST(Registry, EveryOpIsDifferentiableOrListed) {
  for (const Op* op : all_ops())
    EXPECT_NE(bool(op->gradient),
              without_gradient.contains(op->name) || integer_outputs.contains(op->name))
        << op->name;
}

TEST(Registry, OpsWithoutGradientSaveNothing) {
  for (const Op* op : all_ops())
    if (!op->gradient) EXPECT_TRUE(op->saves.inputs == 0 && op->saves.outputs == 0) << op->name;
}

TEST(Registry, TheListsHoldNothingStale) {
  for (const auto* list : {&without_gradient, &integer_outputs})
    for (const std::string& name : *list) EXPECT_NE(find_op(name), nullptr) << name;
}

}  // namespace
}  // namespace simmesh
