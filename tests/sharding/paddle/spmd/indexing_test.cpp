#include <gtest/gtest.h>

#include "tests/sharding/paddle/spmd/asked.h"

namespace simmesh::paddle {
namespace {

using testing::asked;
using testing::tensor;

// The index takes the place of the axis; a dim of x keeps a mesh dim that both want.
TEST(PaddleIndexing, GatherPutsTheIndexInPlaceOfTheAxis) {
  SpmdTensor x = tensor({4, 8, 16}, {{0}, {1}, {}});
  EXPECT_EQ(asked({"gather", {2, 2, 2}, {x, tensor({6}, {{2}})}, {std::int64_t(0)}}),
            "[[],[1],[]] | [[2]] -> [[2],[1],[]]");
  EXPECT_EQ(asked({"gather", {2, 2, 2}, {x, tensor({6}, {{1}})}, {std::int64_t(0)}}),
            "[[],[1],[]] | [[1]] -> [[],[1],[]]");
  EXPECT_EQ(asked({"index_select", {2, 2, 2}, {x, tensor({6}, {{1, 0}})}, {std::int64_t(0)}}),
            "[[],[1],[]] | [[0]] -> [[0],[1],[]]");
  EXPECT_EQ(asked({"gather_nd", {2, 2, 2}, {x, tensor({5, 1}, {{2}, {0}})}, {}}),
            "[[],[1],[]] | [[2],[]] -> [[2],[1],[]]");
}

// Rows of a table that are cut leave the lookup partial.
TEST(PaddleIndexing, EmbeddingOfCutRowsIsPartial) {
  SpmdTensor ids = tensor({4, 8}, {{1}, {}}), table = tensor({32, 16}, {{0}, {}});
  EXPECT_EQ(asked({"embedding", {2, 2}, {ids, table}, {std::int64_t(-1), false}}),
            "[[1],[]] | [[0],[]] -> [[1],[],[]] partial {0: sum}");
  EXPECT_NE(asked({"embedding", {2, 2}, {ids, table}, {std::int64_t(0), false}})
                .find("does NOT support Padding Idx"),
            std::string::npos);
  EXPECT_NE(asked({"c_embedding", {2, 2}, {table, tensor({4, 8}, {{0}, {}})}, {}})
                .find("Multiple Tensor Axes [a,j] is sharded by same mesh dimension [0]."),
            std::string::npos);
}

TEST(PaddleIndexing, OneHotTakesTensorsAsTheyAre) {
  EXPECT_EQ(asked({"one_hot", {2, 2}, {tensor({4}, {{0, 1}})}, {std::int64_t(10)}}),
            "[[0,1]] -> [[0],[]]");
}

}  // namespace
}  // namespace simmesh::paddle
