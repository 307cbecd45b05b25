#include "core/nn/batch_rows.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/nn/dropout.h"
#include "core/ops/functions/default_generator.h"
#include "core/tensor/formula.h"

namespace simmesh::nn {
namespace {

Tensor dropped(const Tensor& x) {
  manual_seed(4);
  return Dropout(0.5)(x);
}

// If a rank drew for its own rows, a run would depend on the number of ranks.
TEST(BatchRows, PartsDrawWhatTheWholeBatchDraws) {
  Tensor x = formula({7, 5}, {.rule = Rule::positive, .seed = 1}), whole = dropped(x);
  for (std::int64_t parts = 1; parts <= 8; ++parts)
    for (std::int64_t index = 0; index < parts; ++index) {
      Chunk rows = chunk_of({.size = 7, .parts = parts, .index = index});
      Tensor part = x.narrow({0, rows.start, rows.length}).contiguous();
      Tensor expected = whole.narrow({0, rows.start, rows.length}).contiguous();
      BatchRows scope(rows, 7);
      EXPECT_TRUE(same_bits(dropped(part), expected)) << index << " of " << parts;
    }
  EXPECT_TRUE(same_bits(dropped(x), whole)) << "the scopes have ended";
}

TEST(BatchRows, InnerScopesCount) {
  BatchRows outer({.start = 0, .length = 2}, 4);
  {
    BatchRows inner({.start = 3, .length = 1}, 4);
    EXPECT_EQ(BatchRows::shard_of({1, 6}).offset, (Dims{3, 0}));
  }
  EXPECT_EQ(BatchRows::shard_of({2, 6}).offset, (Dims{0, 0}));
  EXPECT_EQ(BatchRows::shard_of({2, 6}).global_shape, (Shape{4, 6}));
  EXPECT_THROW(BatchRows::shard_of({3, 6}), Error);
  EXPECT_THROW(BatchRows::shard_of({}), Error);
}

}  // namespace
}  // namespace simmesh::nn
