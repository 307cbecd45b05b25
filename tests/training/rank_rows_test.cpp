#include "training/rank_rows.h"

#include <gtest/gtest.h>

#include "core/tensor/vector_of.h"

namespace simmesh {
namespace {

// Ranks take rows as torch.chunk cuts them, and then positions as the form says.
TEST(RankRows, ArePartsOfAMicroBatch) {
  ParallelForm form{.part = 1, .parts = 2};
  EXPECT_EQ(rows_of(5, form).start, 3);
  EXPECT_EQ(rows_of(5, form).length, 2);
  Tensor batch = vector_of<std::int64_t>({0, 1, 2, 3, 4, 5}).view(DimSpan({3, 2}));
  EXPECT_TRUE(
      same_bits(part_of(batch, form), vector_of<std::int64_t>({4, 5}).view(DimSpan({1, 2}))));
  form.part_of_rows = [](const Tensor& rows) { return rows.narrow({1, 1, 1}); };
  EXPECT_TRUE(same_bits(part_of(batch, form), vector_of<std::int64_t>({5}).view(DimSpan({1, 1}))));
}

}  // namespace
}  // namespace simmesh
