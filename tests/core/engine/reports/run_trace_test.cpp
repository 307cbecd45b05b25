#include "core/engine/reports/run_trace.h"

#include <gmock/gmock.h>
#include <map>
#include <nlohmann/json.hpp>

#include "core/check/error.h"
#include "core/clock/stream.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Json = nlohmann::json;

// Runs a body in a world with the options and returns what its trace file holds.
Json trace_of(WorldOptions options, const std::function<void(Rank&)>& body) {
  testing::TemporaryFolder folder;
  options.trace_file = (folder.path() / "trace.json").string();
  World world(options);
  world.run(body);
  return Json::parse(folder.read("trace.json"));
}

std::map<std::string, int> spans_by_name(const Json& trace) {
  std::map<std::string, int> spans;
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("ph") == "X") ++spans[event.at("name")];
  return spans;
}

std::vector<std::string> track_names(const Json& trace) {
  std::vector<std::string> names;
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("name") == "process_name" || event.at("name") == "thread_name")
      names.push_back(event.at("args").at("name"));
  return names;
}

// Launches an operation and lets another rank run.
void launch_and_yield(Rank& rank) {
  if (Clock* clock = rank.clock()) clock->launch({.name = "kernel", .cost_us = 3});
  rank.run().yield(rank, CallSite::here());
}

using Names = std::vector<std::string>;

// If this fails, the file lacks what a run did, or says wrongly how it ended.
TEST(RunTrace, HasTheEventsOfEachRank) {
  Json trace = trace_of({.ranks = 2, .seed = 5, .program = "./p"}, launch_and_yield);
  EXPECT_EQ(track_names(trace), Names({"rank 0", "rank 1", "events by step", "events by step"}));
  EXPECT_EQ(spans_by_name(trace), (std::map<std::string, int>{{"yield yield", 2}, {"finish", 2}}));
  const Json& about = trace.at("otherData");
  EXPECT_EQ(about.at("seed"), 5);
  EXPECT_EQ(about.at("program"), "./p");
  EXPECT_EQ(about.at("events_recorded"), 4);
  EXPECT_EQ(about.at("events_dropped"), 0);
  EXPECT_EQ(about.at("outcome"), "ok");
  EXPECT_EQ(about.at("ranks"), 2);
  EXPECT_EQ(trace_of({.ranks = 2, .seed = 5, .threads = 2, .program = "./p"}, launch_and_yield),
            trace);
}

TEST(RunTrace, HasTheStreamsOfDevicesInSimulatedTime) {
  Json trace = trace_of({.ranks = 2, .device = DeviceModel()}, launch_and_yield);
  EXPECT_EQ(track_names(trace), Names({"rank 0", "rank 1", "stream compute", "stream compute"}));
  EXPECT_EQ(spans_by_name(trace), (std::map<std::string, int>{{"kernel", 2}}));
}

// A run that failed is the one that people want to look at.
TEST(RunTrace, IsWrittenOfARunThatFails) {
  for (bool has_devices : {false, true}) {
    WorldOptions options{.ranks = 2};
    if (has_devices) options.device = DeviceModel();
    Json trace = trace_of(options, [](Rank& rank) {
      launch_and_yield(rank);
      if (rank.id() == 1) raise(ErrorKind::runtime_error, "test", "a \"fault\"");
    });
    EXPECT_THAT(trace.at("otherData").at("outcome").get<std::string>(), HasSubstr("a \"fault\""));
    EXPECT_EQ(spans_by_name(trace)["finish"], 2);
    EXPECT_EQ(spans_by_name(trace)["kernel"], has_devices ? 2 : 0);
  }
}

// If this fails, a file that lacks events doesn't say so, or the ring of a short run is kept small.
TEST(RunTrace, SaysHowManyEventsWereDropped) {
  EXPECT_EQ(trace_events_max({.trace_events_max = 7}), 7u);
  EXPECT_GE(trace_events_max({.trace_events_max = 7, .trace_file = "t"}), 1'000'000u);
  Trace events(2);
  for (int i = 0; i < 5; ++i) events.record({});
  WorldOptions options;
  Outcome outcome;
  Json about = Json::parse(run_trace({options, outcome, events, {}, {}})).at("otherData");
  EXPECT_EQ(about.at("events_recorded"), 5);
  EXPECT_EQ(about.at("events_dropped"), 3);
}

TEST(RunTrace, AFileThatCantBeWrittenIsAnError) {
  World world({.trace_file = "/no/such/folder/t.json"});
  EXPECT_THAT([&] { world.run([](Rank&) {}); },
              ThrowsMessage<Error>(HasSubstr("expected to write the trace")));
  // The world isn't left running.
  EXPECT_THAT([&] { world.run([](Rank&) {}); },
              ThrowsMessage<Error>(HasSubstr("expected to write the trace")));
}

}  // namespace
}  // namespace simmesh
