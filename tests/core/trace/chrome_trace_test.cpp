#include "core/trace/chrome_trace.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace simmesh {
namespace {

using Json = nlohmann::json;

// If this fails, Perfetto doesn't open the file or shows tracks without names.
TEST(ChromeTrace, IsJsonWithNamedTracks) {
  ChromeTrace trace;
  EXPECT_EQ(Json::parse(trace.text()).at("traceEvents").size(), 0u);
  trace.name_process(3, "rank 3");
  trace.name_track({3, 1}, "copies");
  trace.add({.track = {3, 1},
             .begin_us = 2.5,
             .length_us = 4,
             .name = "copy",
             .site = {"/tree/train.cpp", 42}});
  trace.note("seed", 7);
  trace.note("failure", "a \"quoted\"\nline\\ \xff\x01");
  Json root = Json::parse(trace.text());
  const Json& events = root.at("traceEvents");
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0],
            Json::parse(R"({"ph":"M","pid":3,"name":"process_name","args":{"name":"rank 3"}})"));
  EXPECT_EQ(events[1]["args"]["sort_index"], 3);
  EXPECT_EQ(events[2]["args"]["name"], "copies");
  EXPECT_EQ(events[3]["args"]["sort_index"], 1);
  EXPECT_EQ(events[4], Json::parse(R"({"ph":"X","pid":3,"tid":1,"ts":2.5,"dur":4.0,"name":"copy",)"
                                   R"("args":{"site":"train.cpp:42"}})"));
  EXPECT_EQ(root["otherData"]["seed"], 7);
  EXPECT_EQ(root["otherData"]["failure"], "a \"quoted\"\nline\\ ??");
}

// If this fails, events of one step hide one another.
TEST(ChromeTrace, EventsOfAStepShareIt) {
  Trace trace(8);
  for (std::uint32_t sequence = 0; sequence < 2; ++sequence) {
    Event event;
    event.step = 5;
    event.rank = 2;
    event.kind = EventKind::arrive;
    event.operation = "all_reduce";
    event.sequence = sequence;
    event.elements = 256;
    trace.record(event);
  }
  Event event;
  event.step = 6;
  event.rank = 1;
  event.kind = EventKind::finish;
  trace.record(event);
  ChromeTrace chrome;
  add_events(chrome, trace);
  Json events = Json::parse(chrome.text()).at("traceEvents");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["ts"], 5.0);
  EXPECT_EQ(events[1]["ts"], 5.5);
  EXPECT_EQ(events[1]["dur"], 0.5);
  EXPECT_EQ(events[1]["pid"], 2);
  EXPECT_EQ(events[1]["name"], "arrive all_reduce");
  EXPECT_EQ(events[1]["args"]["sequence"], 1);
  EXPECT_EQ(events[1]["args"]["elements"], 256);
  EXPECT_EQ(events[2]["name"], "finish");
  EXPECT_EQ(events[2]["dur"], 1.0);
}

}  // namespace
}  // namespace simmesh
