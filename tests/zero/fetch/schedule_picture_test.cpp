#include "zero/fetch/schedule_picture.h"

#include <fstream>
#include <gmock/gmock.h>
#include <iterator>

namespace simmesh::zero {
namespace {

using ::testing::HasSubstr;

// A parameter that is fetched by one module, prefetched for another, used and released.
TEST(SchedulePicture, DrawsFromGatherToRelease) {
  std::vector<Event> events = {{.kind = EventKind::enter, .module = 0},
                               {.kind = EventKind::fetch, .params = {0}},
                               {.kind = EventKind::wait, .params = {0}},
                               {.kind = EventKind::prefetch, .params = {1}},
                               {.kind = EventKind::entered, .module = 0, .available = 30},
                               {.kind = EventKind::leave, .module = 0},
                               {.kind = EventKind::release, .params = {0}},
                               {.kind = EventKind::left, .module = 0, .available = 10},
                               {.kind = EventKind::enter, .module = 1, .pass = Pass::backward},
                               {.kind = EventKind::wait, .params = {1}},
                               {.kind = EventKind::entered, .module = 1, .available = 10}};
  std::string svg = schedule_svg(events, {.modules = {"", "a<b"}, .params = {"w", "v"}});
  EXPECT_EQ(svg.rfind("<svg xmlns=", 0), 0u);
  EXPECT_THAT(svg, HasSubstr("F&gt; root"));
  EXPECT_THAT(svg, HasSubstr("B&gt; a&lt;b"));
  EXPECT_THAT(svg, HasSubstr("at most 30"));
  // One column in flight and one whole; two in flight from the first, and one whole.
  EXPECT_THAT(svg, HasSubstr("x=\"190\" y=\"152\" width=\"14\" height=\"12\" fill=\"#e8a0a0\""));
  EXPECT_THAT(svg, HasSubstr("x=\"204\" y=\"152\" width=\"14\" height=\"12\" fill=\"#5b8db8\""));
  EXPECT_THAT(svg, HasSubstr("x=\"190\" y=\"168\" width=\"28\" height=\"12\" fill=\"#f0d080\""));
  EXPECT_THAT(svg, HasSubstr("x=\"218\" y=\"168\" width=\"14\" height=\"12\" fill=\"#5b8db8\""));
}

TEST(SchedulePicture, OfNothingIsEmpty) {
  EXPECT_THAT(schedule_svg({}, {}), HasSubstr("at most 1"));
}

std::string contents(const std::string& path) {
  std::ifstream file(SIMMESH_SOURCE_DIR + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The picture in docs/zero.md is the one that the example prints.
TEST(SchedulePicture, OfThePageIsThatOfTheExample) {
  std::string drawn = contents("/examples/zero3_schedule.txt");
  EXPECT_FALSE(drawn.empty());
  EXPECT_EQ(contents("/docs/pictures/zero3_schedule.svg"), drawn);
}

TEST(SchedulePicture, TheTableOfThePageIsThatOfTheExample) {
  EXPECT_THAT(contents("/docs/zero.md"), HasSubstr(contents("/examples/zero3_memory.txt")));
}

}  // namespace
}  // namespace simmesh::zero
