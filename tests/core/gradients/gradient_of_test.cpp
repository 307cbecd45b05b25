#include "core/gradients/gradient_of.h"

#include <gtest/gtest.h>

#include "core/gradients/gradient_table.h"
#include "core/ops/call.h"
#include "core/ops/registry/registry.h"
#include "core/samples/samples_of.h"

namespace simmesh {
namespace {

bool may_be_floating(const Op& op) {
  for (const OpSample* sample : samples_of(op)) {
    std::vector<Tensor> inputs = sample_inputs(*sample, {}, {});
    for (const Tensor& output : call(op, inputs, sample->attributes_at({})))
      if (is_floating_point(output.dtype())) return true;
  }
  return false;
}

// An op that nobody thought of in core/gradients would cut the tape without a word.
TEST(GradientOf, TheTableHasEachOpWhoseOutputsMayBeFloating) {
  GradientTable table = collected_gradients();
  for (const Op* op : all_ops())
    EXPECT_EQ(table.find(*op) != nullptr, may_be_floating(*op)) << op->name;
}

// A gradient without a rule would be called.
TEST(GradientOf, FindsNoneThatHasNoRule) {
  EXPECT_EQ(gradient_of(*find_op("zeros_like")), nullptr);
  for (const Op* op : all_ops()) {
    const Gradient* gradient = gradient_of(*op);
    EXPECT_TRUE(!gradient || gradient->rule) << op->name;
  }
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
