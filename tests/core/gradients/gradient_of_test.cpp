#include "core/gradients/gradient_of.h"

#include <gtest/gtest.h>
#include <set>

#include "core/ops/registry/registry.h"

namespace simmesh {
namespace {

// Ops with floating outputs that have no gradient, and why.
const std::set<std::string> without_gradient = {
    "flash_attention_backward",  // a gradient itself, computed at once
    "histc",                     // counts
    "empty_like",                // constant
    "full_like",
    "new_empty",
    "new_full",
    "new_ones",
    "new_zeros",
    "ones_like",
    "zeros_like",
    "rand",  // random
    "randn",
    "rand_like",
    "randn_like",
    "_local_scalar_dense",  // a number of the host
    "gradient_operands",    // moves the saved operands of a gradient
    "trigamma",             // the third derivative of a logarithm
};

// Ops whose outputs are flags, indices or counts.
const std::set<std::string> without_floating_output = {
    "all",         "any",         "bucketize",    "argmax",        "argmin",      "bitwise_and",
    "bitwise_not", "bitwise_or",  "bitwise_xor",  "count_nonzero", "eq",          "equal",
    "ge",          "gt",          "isfinite",     "isinf",         "isin",        "isnan",
    "le",          "logical_and", "logical_not",  "logical_or",    "logical_xor", "lt",
    "ne",          "one_hot",     "searchsorted",
};

// An op that nobody thought of here would cut the tape without a word.
TEST(GradientOf, FindsThatOfEveryOpThatIsNotListed) {
  for (const Op* op : all_ops()) {
    bool is_listed =
        without_gradient.contains(op->name) || without_floating_output.contains(op->name);
    const Gradient* gradient = gradient_of(*op);
    EXPECT_NE(gradient && gradient->rule, is_listed) << op->name;
  }
}

TEST(GradientOf, TheListsHoldNothingStale) {
  for (const auto* list : {&without_gradient, &without_floating_output})
    for (const std::string& name : *list) EXPECT_NE(find_op(name), nullptr) << name;
}

// A view has the storage of its input, and a gradient that saved it would keep that alive.
TEST(GradientOf, ViewsSaveNothing) {
  for (const Op* op : all_ops()) {
    if (!op->view) continue;
    EXPECT_EQ(gradient_of(*op)->saves.inputs | gradient_of(*op)->saves.outputs, 0u) << op->name;
  }
}

TEST(GradientOf, AnOpOfOnesOwnBringsItsOwn) {
  Op op = {.name = "mm"};
  EXPECT_EQ(gradient_of(op), nullptr);
  op.gradient.rule = [](const GradientCall&) { return Gradients(); };
  EXPECT_EQ(gradient_of(op), &op.gradient);
}

}  // namespace
}  // namespace simmesh
