#include "core/tensor/attachment.h"

#include <gtest/gtest.h>

#include "core/ops/compute_mode.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/tensor.h"

namespace simmesh {
namespace {

// A view of a view that may not be changed in place may not be changed either.
TEST(Attachment, ViewsInheritWhatIsRefused) {
  EXPECT_EQ(made_view(ViewKind::none, ViewKind::view), ViewKind::view);
  EXPECT_EQ(made_view(ViewKind::one_of_several, ViewKind::view), ViewKind::one_of_several);
  EXPECT_EQ(made_view(ViewKind::unrecorded, ViewKind::view), ViewKind::unrecorded);
  EXPECT_EQ(made_view(ViewKind::view, ViewKind::unrecorded), ViewKind::unrecorded);
}

// Copies and views are of one lineage; detach and clone begin another one.
TEST(Attachment, PlainTensorsKnowTheirLineage) {
  Tensor x = zeros({2, 2}, DType::float32), row = select(x, 0, 1);
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): copies are what is tested.
  Tensor copy = x;
  Tensor part = unbind(x).front().unsqueeze(0), apart = row.detach();
  EXPECT_EQ(copy.lineage(), x.lineage());
  EXPECT_EQ(row.lineage(), x.lineage());
  EXPECT_EQ(row.view_kind(), ViewKind::view);
  EXPECT_EQ(part.view_kind(), ViewKind::one_of_several);
  EXPECT_NE(apart.lineage(), x.lineage());
  EXPECT_EQ(apart.view_kind(), ViewKind::none);
  NoGrad scope;
  EXPECT_EQ(x.transpose(0, 1).view_kind(), ViewKind::unrecorded);
}

}  // namespace
}  // namespace simmesh
