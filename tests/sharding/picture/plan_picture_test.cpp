#include "sharding/picture/plan_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/redistribute/planner.h"

namespace simmesh {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Plan plan_of(const Shape& shape, const Dims& mesh, const char* from, const char* to) {
  return make_plan({.shape = shape,
                    .mesh_shape = mesh,
                    .from = parse_placements(from),
                    .to = parse_placements(to)});
}

// If this fails, the picture lacks a step or shows another sharding after it.
TEST(PlanPicture, ShowsTheStartAndEachStepInText) {
  EXPECT_EQ(plan_text_picture(Shape{4}, Dims{2}, plan_of({4}, {2}, "S(0)", "R")),
            "start: S(0)\n"
            "tensor [4] on mesh [2]\n"
            "mesh dim 0 (2 ranks): S(0), splits tensor dim 0\n"
            "+-----+-----+\n"
            "| 0:2 | 2:4 |\n"
            "+-----+-----+\n"
            "| (0) | (1) |\n"
            "+-----+-----+\n"
            "\n"
            "step 1: S(0)->R on mesh dim 0, all_gather, then R\n"
            "tensor [4] on mesh [2]\n"
            "mesh dim 0 (2 ranks): R, every rank holds a copy\n"
            "+-----+\n"
            "| 0:4 |\n"
            "+-----+\n"
            "| (*) |\n"
            "+-----+\n");
}

TEST(PlanPicture, IsOneElementWithAllSteps) {
  Plan plan = plan_of({16, 8}, {2, 4}, "S(0),R", "R,S(1)");
  ASSERT_EQ(plan.steps.size(), 2u);
  std::string svg = plan_svg_picture(Shape{16, 8}, Dims{2, 4}, plan);
  EXPECT_THAT(svg, StartsWith("<svg xmlns="));
  EXPECT_THAT(svg, EndsWith("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr(">start: S(0),R</text>"));
  EXPECT_THAT(svg, HasSubstr(">step 1: "));
  EXPECT_THAT(svg, HasSubstr(">step 2: "));
}

}  // namespace
}  // namespace simmesh
