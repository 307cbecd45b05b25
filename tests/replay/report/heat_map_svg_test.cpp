#include "replay/report/heat_map_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;

AllToAllMatrix matrix_of(std::size_t members, std::int64_t elements) {
  AllToAllMatrix matrix{.name = "all_to_all", .members = {}, .elements = {}, .item_bytes = 4};
  for (std::size_t i = 0; i < members; ++i) {
    matrix.members.push_back(std::int64_t(i) * 2);
    matrix.elements.emplace_back(members, elements);
  }
  return matrix;
}

TEST(HeatMapSvg, TheMostIsTheDarkest) {
  AllToAllMatrix matrix = matrix_of(3, 0);
  matrix.elements[1][2] = 10;
  matrix.elements[2][0] = 5;
  std::string svg = heat_map_svg(matrix);
  EXPECT_THAT(svg, HasSubstr("fill=\"#144296\"><title>rank 2 to rank 4: 40 bytes"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#f0f4fa\"><title>rank 0 to rank 0: 0 bytes"));
  EXPECT_THAT(svg, HasSubstr("rank 4 to rank 0: 20 bytes"));
}

TEST(HeatMapSvg, RanksOfALargeGroupShareCells) {
  std::string svg = heat_map_svg(matrix_of(200, 1));
  EXPECT_THAT(svg, HasSubstr("ranks 0 to 4 to ranks 0 to 4: 36 bytes"));
  std::size_t cells = 0;
  for (std::size_t at = svg.find("<rect"); at != svg.npos; at = svg.find("<rect", at + 1)) ++cells;
  EXPECT_EQ(cells, 64u * 64u);
}

TEST(HeatMapSvg, NothingSentIsNoFault) {
  EXPECT_THAT(heat_map_svg(matrix_of(2, 0)), HasSubstr("0 bytes"));
  EXPECT_THAT(heat_map_svg(matrix_of(0, 0)), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace simmesh::replay
