#include "sharding/picture/picture_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string svg_of(const Shape& shape, const Dims& mesh, const char* list) {
  return svg_picture(shape, mesh, {parse_placements(list), {}});
}

std::size_t occurrences(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// If this fails, a picture lacks a cell, or is no element of its own.
TEST(PictureSvg, DrawsOneRectangleACell) {
  const std::string vector = svg_of({5}, {4}, "S(0)");
  EXPECT_THAT(vector, StartsWith("<svg xmlns="));
  EXPECT_THAT(vector, EndsWith("</svg>\n"));
  EXPECT_EQ(occurrences(vector, "fill=\"hsl("), 3u);
  EXPECT_THAT(vector, HasSubstr(">nothing: (3)</text>"));
  EXPECT_EQ(occurrences(svg_of({4, 6}, {2, 3}, "S(0),S(1)"), "fill=\"hsl("), 6u);
  EXPECT_EQ(occurrences(svg_of({}, {2}, "R"), "fill=\"hsl("), 1u);
}

// If this fails, tensors of three and more dims lose the dims in front.
TEST(PictureSvg, DimsInFrontBecomePanels) {
  const std::string text = svg_of({2, 3, 2, 4}, {2, 2, 2}, "S(0),S(1),S(3)");
  EXPECT_EQ(occurrences(text, ">indices "), 4u);
  EXPECT_THAT(text, HasSubstr(">indices 1:2 x 2:3</text>"));
  EXPECT_EQ(occurrences(text, "fill=\"hsl("), 8u);
}

// If this fails, partial and ragged tensors look like any other.
TEST(PictureSvg, PartialAndRaggedAreMarked) {
  EXPECT_EQ(occurrences(svg_of({4}, {2, 2}, "P(sum),S(0)"), "url(#partial)"), 2u);
  EXPECT_THAT(svg_of({4}, {2}, "S(0)"), Not(HasSubstr("url(#partial)")));
  EXPECT_EQ(occurrences(svg_of({6}, {3}, "Ragged([1,0,2])"), "stroke-dasharray"), 2u);
  EXPECT_THAT(svg_of({4}, {2}, "S(0)"), Not(HasSubstr("stroke-dasharray")));
}

// If this fails, two pictures of one sharding differ.
TEST(PictureSvg, IsDeterministic) {
  EXPECT_EQ(svg_of({7, 5}, {2, 4}, "_S(0,2),S(1)"), svg_of({7, 5}, {2, 4}, "_S(0,2),S(1)"));
}

}  // namespace
}  // namespace simmesh
