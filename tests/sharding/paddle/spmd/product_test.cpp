#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// A cut of the inner dim leaves the product partial.
TEST(PaddleProduct, InnerCutsAreSummed) {
  EXPECT_EQ(asked({"matmul",
                   {2, 2},
                   {tensor({8, 16}, {{}, {0}}), tensor({16, 24}, {{1}, {}})},
                   {false, false}}),
            "[[],[0,1]] | [[0,1],[]] -> [[],[]] partial {0: sum, 1: sum}");
  EXPECT_EQ(
      asked(
          {"matmul", {2}, {tensor({16, 8}, {{0}, {}}), tensor({24, 16}, {{}, {}})}, {true, true}}),
      "[[0],[]] | [[],[0]] -> [[],[]] partial {0: sum}");
  EXPECT_EQ(asked({"bmm",
                   {2},
                   {tensor({4, 8, 16}, {{}, {0}, {}}), tensor({4, 16, 24}, {{0}, {}, {}})},
                   {}}),
            "[[0],[],[]] | [[0],[],[]] -> [[0],[],[]]");
}

// The cuts of the inner dim are compared after those of rows, columns and batches are taken out.
TEST(PaddleProduct, InnerDimFollowsTheFactorWithMoreCutsLeft) {
  EXPECT_EQ(asked({"matmul",
                   {2, 2, 4},
                   {tensor({8, 16}, {{}, {2, 1}}), tensor({12, 16}, {{2}, {0, 1}})},
                   {false, true}}),
            "[[],[0,1]] | [[2],[0,1]] -> [[],[2]] partial {0: sum, 1: sum}");
}

TEST(PaddleProduct, VectorsHaveNoRowOrColumn) {
  EXPECT_EQ(
      asked({"matmul", {2}, {tensor({16}, {{0}}), tensor({16, 24}, {{}, {}})}, {false, false}}),
      "[[0]] | [[0],[]] -> [[]] partial {0: sum}");
}

TEST(PaddleProduct, EinsumFollowsItsEquation) {
  std::vector<SpmdTensor> factors{tensor({4, 8}, {{1}, {}}), tensor({8, 6}, {{0}, {}})};
  EXPECT_EQ(asked({"einsum", {2, 2}, {factors}, {std::string("ij,jk->ik")}}),
            "([[1],[0]]; [[0],[]]) -> [[1],[]] partial {0: sum}");
  std::vector<SpmdTensor> outer{tensor({4}, {{0}}), tensor({6}, {{1}})};
  EXPECT_EQ(asked({"einsum", {2, 2}, {outer}, {std::string("i,j->ji")}}),
            "([[0]]; [[]]) -> [[],[0]]");
}

// The bias has the layout of the last dim of the product, and is partial with it.
TEST(PaddleProduct, FusedBiasFollowsTheProduct) {
  EXPECT_EQ(asked({"fused_gemm_epilogue",
                   {2, 2},
                   {tensor({4, 16}, {{}, {0}}), tensor({16, 24}, {{}, {1}}), tensor({24}, {{}})},
                   {false, false, std::string("none")}}),
            "[[],[0]] | [[0],[1]] | [[1]] partial {0: sum} -> [[],[1]] partial {0: sum} | []");
}

// Gradients are added in place, so they must have the layout of their target.
TEST(PaddleProduct, GradientsMustLieAsTheyAreAdded) {
  SpmdTensor x = tensor({4, 8, 16}, {{0}, {}, {}}), dout = tensor({4, 8, 24}, {{0}, {}, {}});
  EXPECT_EQ(asked({"fused_linear_param_grad_add",
                   {2},
                   {x, dout, tensor({16, 24}, {{}, {}}, {0}), tensor({24}, {{}}, {0})},
                   {false, true}}),
            "[[0],[],[]] | [[0],[],[]] | [[],[]] partial {0: sum} | [[]] partial {0: sum} -> "
            "[[],[]] partial {0: sum} | [[]] partial {0: sum}");
  EXPECT_NE(asked({"fused_linear_param_grad_add",
                   {2},
                   {x, dout, tensor({16, 24}, {{}, {0}}), tensor({24}, {{}}, {0})},
                   {false, true}})
                .find("dweight_dist_attr [{process_mesh: {shape: [2], process_ids: [0,1], "
                      "dim_names: [x]}, dim_mappings: [[] [0] ]"),
            std::string::npos);
}

}  // namespace
}  // namespace simmesh::paddle
