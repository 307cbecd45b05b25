#include "core/ops/functions/op_views.h"

#include <gtest/gtest.h>

#include "core/autograd/node.h"
#include "core/autograd/variable.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

void expect_op(const Tensor& view, const char* op, const Shape& shape) {
  EXPECT_EQ(view.shape(), shape);
  ASSERT_TRUE(Variable::of(view)) << op;
  EXPECT_EQ(Variable::of(view)->node()->name(), op);
}

// If this fails, a view of a tensor on the tape is recorded as another op or as none, and its
// gradient is lost.
TEST(OpViews, RunTheOpOfTheirName) {
  Tensor x = formula({2, 1, 3}, {});
  set_requires_grad(x);
  const AttachedViews& views = op_views();
  expect_op(views.narrow(x, {.dim = 2, .start = 1, .length = 2}), "slice", {2, 1, 2});
  expect_op(views.transpose(x, 0, 2), "transpose", {3, 1, 2});
  expect_op(views.permute(x, Dims{2, 0, 1}), "permute", {3, 2, 1});
  expect_op(views.unsqueeze(x, 0), "unsqueeze", {1, 2, 1, 3});
  expect_op(views.squeeze(x, 1), "squeeze", {2, 3});
  expect_op(views.view(x, Dims{6}), "view", {6});
  expect_op(views.clone(x), "clone", {2, 1, 3});
}

}  // namespace
}  // namespace simmesh
