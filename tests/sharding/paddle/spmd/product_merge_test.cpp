#include "sharding/paddle/spmd/product_merge.h"

#include <gtest/gtest.h>

namespace simmesh::paddle {
namespace {

std::string merged(const ProductOperand& x, const ProductOperand& y, const std::string& output) {
  SpmdCall call{.op = "matmul", .mesh_shape = {2, 2, 2}, .inputs = {}};
  ProductCuts cuts = merge_product(call, x, y);
  return to_string(cuts.input(x)) + " " + to_string(cuts.input(y)) + " " +
         to_string(cuts.output(output));
}

// A mesh dim cuts rows or columns rather than the summed dim, and the larger of the two.
TEST(ProductMerge, MeshDimsGoToTheLargerSide) {
  EXPECT_EQ(merged({"mk", {8, 16}, {{0}, {}}}, {"kn", {16, 24}, {{}, {0}}}, "mn"),
            "[[],[]] [[],[0]] [[],[0]]");
  EXPECT_EQ(merged({"mk", {8, 16}, {{0}, {}}}, {"kn", {16, 8}, {{}, {0}}}, "mn"),
            "[[0],[]] [[],[]] [[0],[]]");
  EXPECT_EQ(merged({"mk", {8, 16}, {{}, {0}}}, {"kn", {16, 24}, {{1}, {0}}}, "mn"),
            "[[],[1]] [[1],[0]] [[],[0]] partial {1: sum}");
}

// The batch comes first, and adds the cuts of the other factor.
TEST(ProductMerge, BatchesAddUp) {
  EXPECT_EQ(merged({"amk", {4, 8, 16}, {{0}, {}, {1}}}, {"akn", {4, 16, 24}, {{1}, {}, {}}}, "amn"),
            "[[0,1],[],[]] [[0,1],[],[]] [[0,1],[],[]]");
}

TEST(ProductMerge, RefusesToFollowASmallerBatch) {
  EXPECT_THROW(merged({"abmk", {2, 4, 8, 16}, {{}, {}, {}, {}}},
                      {"bkn", {4, 16, 24}, {{0}, {}, {}}}, "abmn"),
               Error);
}

}  // namespace
}  // namespace simmesh::paddle
