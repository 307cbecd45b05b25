#include "sharding/placement/index_cut.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

IndexRuns runs(std::initializer_list<IndexRun> list) { return IndexRuns(list.begin(), list.end()); }

Tensor column(std::initializer_list<std::int64_t> values) {
  return tensor_of<std::int64_t>({std::int64_t(values.size())}, values);
}

// Wanted indices come in the wanted order, also where a run spans several that are held.
TEST(IndexCut, FindsIndicesWhereverTheyAreHeld) {
  IndexRuns held = runs({{6, 2}, {0, 3}, {3, 2}});
  Tensor tensor = column({6, 7, 0, 1, 2, 3, 4});
  IndexRuns across = runs({{1, 4}});
  EXPECT_TRUE(same_bits(cut_indices(tensor, {0, held, across}), column({1, 2, 3, 4})));
  IndexRuns reversed = runs({{4, 1}, {7, 1}, {0, 2}});
  EXPECT_TRUE(same_bits(cut_indices(tensor, {0, held, reversed}), column({4, 7, 0, 1})));
  IndexRuns none;
  EXPECT_TRUE(same_bits(cut_indices(tensor, {0, held, none}), empty({0}, DType::int64)));
}

// The dim that is cut is not the contiguous one.
TEST(IndexCut, CutsInnerDims) {
  Tensor tensor = tensor_of<std::int64_t>({2, 3}, {0, 1, 2, 10, 11, 12});
  IndexRuns held = runs({{0, 3}}), wanted = runs({{2, 1}, {0, 1}});
  EXPECT_TRUE(same_bits(cut_indices(tensor, {1, held, wanted}),
                        tensor_of<std::int64_t>({2, 2}, {2, 0, 12, 10})));
}

// Held indices are added to zeros at their places, whatever the order on both sides.
TEST(IndexCut, EmbedsWhatIsHeld) {
  IndexRuns held = runs({{4, 2}, {1, 1}}), wanted = runs({{5, 1}, {0, 3}, {3, 2}});
  EXPECT_TRUE(same_bits(embed_indices(column({40, 50, 10}), {0, held, wanted}),
                        column({50, 0, 10, 0, 0, 40})));
  Tensor rows = tensor_of<float>({1, 2}, {-0.0f, 2});
  IndexRuns row = runs({{1, 1}}), both = runs({{0, 2}});
  EXPECT_TRUE(
      same_bits(embed_indices(rows, {0, row, both}), tensor_of<float>({2, 2}, {0, 0, 0, 2})));
}

}  // namespace
}  // namespace simmesh
