#include "core/ops/registry.h"

#include <gtest/gtest.h>
#include <set>

namespace simmesh {
namespace {

// Ops with floating outputs that have no gradient, and why.
const std::set<std::string> without_gradient = {
    "flash_attention_backward",  // a gradient itself, computed at once
    "histc",                     // counts
    "new_zeros",                 // constant
    "rand",                      // random
    "randn",
};

// Ops whose outputs are flags, indices or counts.
const std::set<std::string> without_floating_output = {
    "all",         "any",        "argmax",      "argmin",        "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "count_nonzero", "eq",
    "equal",       "ge",         "gt",          "isfinite",      "isinf",
    "isnan",       "le",         "logical_and", "logical_not",   "logical_or",
    "logical_xor", "lt",         "ne",          "one_hot",       "searchsorted",
};

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
              without_gradient.contains(op->name) || without_floating_output.contains(op->name))
        << op->name;
}

TEST(Registry, OpsWithoutGradientSaveNothing) {
  for (const Op* op : all_ops()) {
    bool saves = op->saves.inputs != 0 || op->saves.outputs != 0;
    EXPECT_TRUE(op->gradient || !saves) << op->name;
  }
}

TEST(Registry, TheListsHoldNothingStale) {
  for (const auto* list : {&without_gradient, &without_floating_output})
    for (const std::string& name : *list) EXPECT_NE(find_op(name), nullptr) << name;
}

}  // namespace
}  // namespace simmesh
