#include "core/autograd/view_record.h"

#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/shapes/views.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// A view of a view must lead to the base at once, with what its own base refuses.
TEST(ViewRecord, ViewsOfViewsBelongToTheBase) {
  Tensor x = full({2, 3}, DType::float64, 1);
  set_requires_grad(x);
  Tensor y = mul(x, 1), row = select(y, 0, 1),
         part = narrow(row, {.dim = 0, .start = 1, .length = 2});
  EXPECT_EQ(&Variable::of(part)->base(), Variable::of(y));
  EXPECT_EQ(*Variable::of(part)->view()->geometry, geometry_of(y));
  EXPECT_EQ(Variable::of(part)->view_kind(), ViewKind::view);
  EXPECT_EQ(Variable::of(y)->view(), nullptr);
  Tensor of_several = unsqueeze(unbind(y).front(), 0);
  EXPECT_EQ(Variable::of(of_several)->view_kind(), ViewKind::one_of_several);
}

// Each change counts for all tensors of the storage.
TEST(ViewRecord, ChangesAreThoseOfTheStorage) {
  Tensor x = zeros({4}, DType::float32), view = x.view(Dims{2, 2}), apart = x.detach();
  std::uint32_t before = changes_of(view);
  add_(apart, 1);
  EXPECT_EQ(changes_of(view), before + 1);
  EXPECT_EQ(changes_of(x), before + 1);
}

// Only the two kinds of views that PyTorch refuses are refused, in its words.
TEST(ViewRecord, RefusesTwoKinds) {
  check_view(ViewKind::none, {}, ViewChange::itself, "mul");
  check_view(ViewKind::view, {}, ViewChange::elsewhere, "mul");
  testing::expect_error(
      [] { check_view(ViewKind::unrecorded, {}, ViewChange::itself, "mul"); },
      ErrorKind::runtime_error,
      "A view was created in no_grad mode and is being modified inplace with grad "
      "mode enabled. Given that this use case is ambiguous");
  testing::expect_error(
      [] { check_view(ViewKind::one_of_several, {}, ViewChange::elsewhere, "mul"); },
      ErrorKind::runtime_error,
      "its base or another view of its base has been modified inplace with grad mode enabled. This "
      "view is the output of a function that returns multiple views");
}

}  // namespace
}  // namespace simmesh
