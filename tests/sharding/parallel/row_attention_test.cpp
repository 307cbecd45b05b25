#include "sharding/parallel/row_attention.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise/comparison.h"
#include "core/ops/neural/attention.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

Tensor data(const Shape& shape, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::unit, .seed = seed});
}

// One after another, as if all ranks were here, in any arithmetic.
void expect_rows_of_one_device(const SequenceSplit& split, const Tensor& v) {
  Tensor q = data({1, 2, split.length, 3}, 1), k = data({1, 2, split.length, 3}, 2);
  Tensor whole = scaled_dot_product_attention(q, k, v, {.is_causal = true, .scale = 0.5});
  std::vector<KeyValue> blocks;
  for (std::int64_t rank = 0; rank < split.ranks; ++rank)
    blocks.push_back(
        {by_rank(k, 2, split)[std::size_t(rank)], by_rank(v, 2, split)[std::size_t(rank)]});
  for (std::int64_t rank = 0; rank < split.ranks; ++rank) {
    RowAttention rows({split, rank, true, 0.5}, by_rank(q, 2, split)[std::size_t(rank)]);
    for (std::int64_t from = split.ranks - 1; from >= 0; --from)
      rows.add_keys(from, blocks[std::size_t(from)].k);
    EXPECT_EQ(difference_in_bits(rows.output(blocks).contiguous(),
                                 by_rank(whole, 2, split)[std::size_t(rank)].contiguous()),
              "");
  }
}

TEST(RowAttention, HasTheRowsOfOneDevice) {
  for (std::int64_t ranks : {1, 2, 3})
    for (std::int64_t length : {1, 6, 7, 40}) {
      SequenceSplit split{length, ranks, SequenceOrder::head_tail};
      expect_rows_of_one_device(split, data({1, 2, length, 4}, 3));
    }
}

// A value that no row may see makes NaN of its weight zero on one device, so also here.
TEST(RowAttention, SeesHiddenValuesThatAreNotFinite) {
  SequenceSplit split{8, 2, SequenceOrder::head_tail};
  Tensor v = data({1, 2, 8, 4}, 3).clone();
  v.mutable_values<float>()[7 * 4] = std::numeric_limits<float>::infinity();
  expect_rows_of_one_device(split, v);
}

}  // namespace
}  // namespace simmesh
