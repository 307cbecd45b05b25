#include "core/page/timeline_section.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// Thousands of ranks with equal programs must not make a page of thousands of copies.
TEST(TimelineSection, TracksWithEqualSpansShareThem) {
  TimelineSection timeline({.title = "T", .unit = "step"});
  for (std::uint64_t rank : {0, 1}) {
    auto begin = std::int64_t(10 * rank);
    timeline.add({.rank = rank, .begin = begin, .length = 2, .name = "add", .site = "a.cpp:1"});
    timeline.add({.rank = rank, .begin = begin + 5, .length = 1, .name = "wait"});
  }
  EXPECT_EQ(timeline.json().text(),
            R"({"kind":"timeline","title":"T","unit":"step","about":"",)"
            R"("labels":[["add","a.cpp:1"],["wait"]],"spans":[[0,2,0,3,1,1]],)"
            R"("tracks":[{"rank":0,"begin":0,"spans":0},{"rank":1,"begin":10,"spans":0}]})");
}

TEST(TimelineSection, SpansAtTheSameTimeGetTracksOfTheirOwn) {
  TimelineSection timeline({.unit = "us"});
  timeline.add({.rank = 3, .track = "events", .begin = 0, .length = 9, .name = "gather"});
  timeline.add({.rank = 3, .track = "events", .begin = 4, .length = 1, .name = "send"});
  timeline.add({.rank = 3, .track = "events", .begin = 9, .length = 1, .name = "send"});
  JsonValue json = timeline.json();
  const auto& tracks = *json.find("tracks")->get<JsonValue::List>();
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_EQ(tracks[0].text(), R"({"rank":3,"begin":0,"spans":0,"name":"events"})");
  EXPECT_EQ(tracks[1].text(), R"x({"rank":3,"begin":4,"spans":1,"name":"events (2)"})x");
}

// A page that silently lacks the end of a run would mislead.
TEST(TimelineSection, SaysWhatItLeavesOut) {
  TimelineSection timeline({.unit = "step", .about = "All ranks.", .spans_max = 4});
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::uint64_t rank : {0, 1})
      timeline.add({.rank = rank, .begin = i, .length = 1, .name = "add"});
  JsonValue json = timeline.json();
  EXPECT_TRUE(json.find("about")->is_text(
      "All ranks. The page has the first 2 operations of each track and leaves out 6."));
  EXPECT_EQ(json.find("spans")->text(), "[[0,1,0,0,1,0]]");
}

}  // namespace
}  // namespace simmesh
