#include "sharding/picture/picture.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

std::string drawn(const Shape& shape, const Dims& mesh, const char* list) {
  return text_picture(shape, mesh, {parse_placements(list), {}});
}

// If this fails, the table of a vector changes.
TEST(Picture, VectorsAreOneRow) {
  EXPECT_EQ(drawn({5}, {2, 4}, "P(sum),S(0)"),
            "tensor [5] on mesh [2, 4]\n"
            "mesh dim 0 (2 ranks): P(sum), every rank holds an operand of the reduction\n"
            "mesh dim 1 (4 ranks): S(0), splits tensor dim 0\n"
            "+-------+-------+-------+\n"
            "|  0:2  |  2:4  |  4:5  |\n"
            "+-------+-------+-------+\n"
            "| (+,0) | (+,1) | (+,2) |\n"
            "+-------+-------+-------+\n"
            "nothing: (+,3)\n");
}

// If this fails, the table of a matrix changes.
TEST(Picture, MatricesAreTables) {
  EXPECT_EQ(drawn({3, 8}, {2, 2}, "_S(0,2),S(1)"),
            "tensor [3, 8] on mesh [2, 2]\n"
            "mesh dim 0 (2 ranks): _S(0,2), splits tensor dim 0 in 2 chunks, each over all ranks\n"
            "mesh dim 1 (2 ranks): S(1), splits tensor dim 1\n"
            "+-----+-------+-------+\n"
            "|     |  0:4  |  4:8  |\n"
            "+-----+-------+-------+\n"
            "| 0:1 | (0,0) | (0,1) |\n"
            "+-----+-------+-------+\n"
            "| 1:2 | (1,0) | (1,1) |\n"
            "+-----+-------+-------+\n"
            "| 2:3 | (0,0) | (0,1) |\n"
            "+-----+-------+-------+\n");
}

// If this fails, tensors of other numbers of dims can't be shown.
TEST(Picture, OtherTensorsAreLists) {
  EXPECT_EQ(drawn({2, 3, 4}, {2, 2}, "_S(2,2),S(1)"),
            "tensor [2, 3, 4] on mesh [2, 2]\n"
            "mesh dim 0 (2 ranks): _S(2,2), splits tensor dim 2 in 2 chunks, each over all ranks\n"
            "mesh dim 1 (2 ranks): S(1), splits tensor dim 1\n"
            "(0,0): 0:2 x 0:2 x 0:1+2:3\n"
            "(0,1): 0:2 x 2:3 x 0:1+2:3\n"
            "(1,0): 0:2 x 0:2 x 1:2+3:4\n"
            "(1,1): 0:2 x 2:3 x 1:2+3:4\n");
  EXPECT_EQ(drawn({}, {2}, "P(sum)"),
            "tensor [] on mesh [2]\n"
            "mesh dim 0 (2 ranks): P(sum), every rank holds an operand of the reduction\n"
            "(+): the one element\n");
}

// If this fails, a tensor without elements breaks the table.
TEST(Picture, TensorsWithoutElementsShowWhoHoldsNothing) {
  EXPECT_EQ(drawn({0, 3}, {2}, "S(0)"),
            "tensor [0, 3] on mesh [2]\n"
            "mesh dim 0 (2 ranks): S(0), splits tensor dim 0\n"
            "nothing: (0) (1)\n");
}

}  // namespace
}  // namespace simmesh
