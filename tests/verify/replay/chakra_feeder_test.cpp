#include "verify/replay/chakra_feeder.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

using nlohmann::json;

replay::ChakraTrace small_trace() {
  replay::ChakraTrace trace;
  trace.nodes.push_back({.id = 2, .name = "mm", .type = replay::ChakraNodeType::comp});
  trace.nodes.push_back({.id = 5,
                         .name = "sum",
                         .type = replay::ChakraNodeType::comm_coll,
                         .ctrl_deps = {77},
                         .data_deps = {2, 88},
                         .start_us = 3,
                         .duration_us = 4,
                         .attributes = {{"comm_size", std::int64_t(64)}}});
  return trace;
}

json small_entry() {
  return json::parse(R"({"kind": "k", "id": "i", "nodes": 2, "unique_ids": 2, "min_id": 2,
    "max_id": 5, "missing_data_deps": 1, "missing_ctrl_deps": 1, "zero_dur": 1,
    "reachable_in_order": 2, "metadata": {"version": "", "attrs": {}},
    "comm_nodes": [{"id": 5, "name": "sum", "type": 7, "start": 3, "dur": 4,
    "attrs": {"comm_size": 64}}]})");
}

std::vector<std::string> feeder_mismatches(const json& entry) {
  RecordedCase recorded = RecordedCase::parse(entry.dump(), {});
  CaseReport report;
  EXPECT_TRUE(is_feeder(recorded.root()));
  compare_feeder(recorded.root(), small_trace(), 2, report);
  return report.mismatches();
}

// Each figure that isn't compared could be recorded wrong.
TEST(ChakraFeeder, ComparesEachFigure) {
  EXPECT_THAT(feeder_mismatches(small_entry()), ::testing::IsEmpty());
  for (const char* name : {"nodes", "unique_ids", "min_id", "max_id", "missing_data_deps",
                           "missing_ctrl_deps", "zero_dur", "reachable_in_order"}) {
    json entry = small_entry();
    entry[name] = 9;
    EXPECT_THAT(feeder_mismatches(entry), ::testing::SizeIs(1)) << name;
  }
  for (const char* name : {"id", "name", "type", "start", "dur", "attrs"}) {
    json entry = small_entry();
    entry["comm_nodes"][0][name] = nullptr;
    if (std::string_view(name) == "type") entry["comm_nodes"][0][name] = "COMP_NODE";
    EXPECT_FALSE(feeder_mismatches(entry).empty()) << name;
  }
}

TEST(ChakraFeeder, TakesTypesByName) {
  json entry = small_entry();
  entry["comm_nodes"][0]["type"] = "COMM_COLL_NODE";
  EXPECT_THAT(feeder_mismatches(entry), ::testing::IsEmpty());
}

}  // namespace
}  // namespace simmesh
