#include "pipeline/analysis/schedule_picture.h"

#include <gmock/gmock.h>

#include "pipeline/schedule/order.h"

namespace simmesh::pipeline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// If this fails, a picture lacks work, or shows it at another time.
TEST(PipelineSchedulePicture, DrawsEachActionInItsTime) {
  Rows rows = compute_order(ScheduleClass::dual_pipe_v, {1, 2, 3});
  std::string svg = schedule_svg(space_out(rows), "a < b");
  EXPECT_THAT(svg, HasSubstr("<text x=\"10\" y=\"20\">a &lt; b</text>"));
  for (const Row& row : rows)
    for (const Action& action : row)
      for (const Action& leaf : action.leaves())
        EXPECT_THAT(svg, HasSubstr("<title>" + to_string(leaf) + "</title>"));
  // 0F0 begins at 0, 1F0 at 1; a compound action has a frame of three units.
  EXPECT_THAT(svg, HasSubstr("<title>0F0</title><rect x=\"70\" y=\"34\" width=\"26\""));
  EXPECT_THAT(svg, HasSubstr("<title>1F0</title><rect x=\"96\" y=\"34\" width=\"26\""));
  EXPECT_THAT(svg, HasSubstr("width=\"78\" height=\"22\" fill=\"none\""));
  EXPECT_THAT(svg, HasSubstr("I gradient of inputs"));
}

TEST(PipelineSchedulePicture, ExplainsWhatItShowsOnly) {
  std::string svg = schedule_svg(space_out({{Action::parse("0F0"), Action::parse("0B0")}}), "");
  EXPECT_THAT(svg, HasSubstr("B backward"));
  EXPECT_THAT(svg, Not(HasSubstr("gradient of inputs")));
}

}  // namespace
}  // namespace simmesh::pipeline
