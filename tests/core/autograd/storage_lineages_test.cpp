#include "core/autograd/storage_lineages.h"

#include <gtest/gtest.h>
#include <memory>

#include "core/autograd/backward.h"
#include "core/engine/world.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/interpolation.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

Tensor scalar_leaf_of(double value) {
  Tensor w = full(DimSpan(), DType::float64, value);
  set_requires_grad(w);
  return w;
}

double gradient_after(const Tensor& end, const Tensor& w) {
  backward(sum(end));
  return grad_of(w).values<double>()[0];
}

// A plain tensor, its copies and its views come to the tape together.
TEST(StorageLineages, PlainTensorsComeToTheTapeTogether) {
  Tensor w = scalar_leaf_of(3), c = full({2, 2}, DType::float64, 5);
  Tensor copy = c, row = select(c, 0, 0);
  mul_(c, w);
  EXPECT_TRUE(copy.requires_grad());
  EXPECT_TRUE(row.requires_grad());
  EXPECT_EQ(gradient_after(add(sum(copy), sum(row)), w), 5 * (4 + 2));
}

// PyTorch takes such a view for a leaf until it has been used.
TEST(StorageLineages, APlainViewIsChangedAfterItsFirstUse) {
  Tensor w = scalar_leaf_of(3), c = full({2, 2}, DType::float64, 5), row = select(c, 0, 0);
  mul_(c, w);
  testing::expect_error([&] { mul_(row, 3); }, ErrorKind::runtime_error, "a leaf Variable");
  Tensor used = mul(row, 2);
  mul_(row, 3);
  EXPECT_EQ(gradient_after(c, w), 5 * (3 + 3 + 1 + 1));
}

// A tensor that is filled part by part has the gradients of its parts, also when the parts are
// gone.
TEST(StorageLineages, ATensorFollowsPartsThatAreGone) {
  Tensor w = scalar_leaf_of(3), c = zeros({2, 3}, DType::float64);
  for (std::int64_t row = 0; row < 2; ++row) {
    Tensor part = select(c, 0, row);
    copy_from_(part, mul(w, row + 1));
  }
  EXPECT_EQ(gradient_after(c, w), 3 * (1 + 2));
}

// The report of a refused pass asks for the tape of a saved tensor, which must not own it then.
TEST(StorageLineages, ARefusedPassLeavesNothingAlive) {
  World world({.ranks = 1});
  Outcome outcome = world.run([](Rank&) {
    Tensor w = scalar_leaf_of(3), c = full({2, 2}, DType::float64, 5);
    addcmul_(c, w, c, 1);
    testing::expect_error([&] { backward(sum(c)); }, ErrorKind::runtime_error,
                          "modified by an inplace operation");
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_EQ(outcome.live_storages, 0);
}

// detach begins another lineage: its tensors share the elements, and no tape.
TEST(StorageLineages, DetachedTensorsStayApart) {
  Tensor w = scalar_leaf_of(3), c = full({2}, DType::float64, 5);
  Tensor apart = c.detach(), view_apart = apart.view(Dims{2, 1});
  mul_(c, w);
  EXPECT_FALSE(apart.requires_grad());
  EXPECT_FALSE(view_apart.requires_grad());
  mul_(apart, w);
  EXPECT_TRUE(view_apart.requires_grad());
  EXPECT_EQ(gradient_after(view_apart, w), 30);
}

// Views of plain tensors are refused like those of others.
TEST(StorageLineages, RefusesSomePlainViews) {
  Tensor w = scalar_leaf_of(3), c = full({2, 2}, DType::float64, 5), one = split(c, 1).front(), two;
  {
    NoGrad scope;
    two = c.view(Dims{4});
  }
  testing::expect_error([&] { mul_(one, w); }, ErrorKind::runtime_error,
                        "the output of a function that returns multiple views");
  testing::expect_error([&] { mul_(two, w); }, ErrorKind::runtime_error,
                        "A view was created in no_grad mode");
}

// The tape and the storage must not own each other: a graph that nobody runs must not stay.
TEST(StorageLineages, OwnNothingThatOwnsThem) {
  auto owned = std::make_shared<int>(0);
  Tensor w = scalar_leaf_of(3);
  {
    Tensor c = full({2}, DType::float64, 5), z = mul(c, w);
    register_hook(z, [owned](const Tensor& gradient) { return gradient; });
    add_(c, z);
    mul_(c, mul(c.view(Dims{2}), w));
    mul_(c, c);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

}  // namespace
}  // namespace simmesh
