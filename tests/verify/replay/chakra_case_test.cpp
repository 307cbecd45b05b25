#include "verify/replay/chakra_case.h"

#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

replay::ChakraSummary small_summary() {
  replay::ChakraSummary summary;
  summary.messages = 4;
  summary.version = "0.0.4";
  summary.metadata = {{"schema", std::string("1.0.2")}};
  summary.node_types = {{replay::ChakraNodeType::comp, 2}, {replay::ChakraNodeType::comm_coll, 1}};
  summary.ctrl_deps = 3;
  summary.data_deps = 5;
  summary.attr_names = {{"comm_type", 1}, {"is_cpu_op", 3}};
  summary.dur_sum_us = 77;
  summary.cpu_ops = 2;
  summary.comm_nodes = 1;
  summary.order = {1, 3, 2};
  summary.order_hash = "abc";
  return summary;
}

json small_case() {
  return json::parse(R"({"kind": "trace_summary", "id": "c", "source": "here", "messages": 4,
    "metadata": {"version": "0.0.4", "schema": "1.0.2"},
    "node_types": {"COMP_NODE": 2, "COMM_COLL_NODE": 1}, "ctrl_deps": 3, "data_deps": 5,
    "attr_names": ["is_cpu_op", "comm_type"], "dur_sum_us": 77, "cpu_ops": 2, "comm_nodes": 1,
    "order_head": [1, 3], "order_hash": "abc"})");
}

std::vector<std::string> mismatches_of(const json& value) {
  RecordedCase recorded = RecordedCase::parse(value.dump(), {.file = "c.jsonl", .line = 1});
  CaseReport report;
  EXPECT_TRUE(is_chakra(recorded.root()));
  compare_chakra(recorded.root(), small_summary(), report);
  return report.mismatches();
}

TEST(ChakraCase, TakesEachFormOfAFigure) {
  json value = small_case();
  EXPECT_THAT(mismatches_of(value), ::testing::IsEmpty());
  value["node_types"] = {{"4", 2}, {"7", 1}};
  value["attr_names"] = {{"comm_type", 1}, {"is_cpu_op", 3}};
  for (const json& metadata : {json(1), json(true), json("0.0.4"), json::array({"schema"}),
                               json::object({{"schema", 7}})}) {
    value["metadata"] = metadata;
    EXPECT_THAT(mismatches_of(value), ::testing::IsEmpty()) << metadata;
  }
}

TEST(ChakraCase, NamesTheFigureThatDiffers) {
  const std::pair<const char*, json> changes[] = {
      {"messages", 5},       {"metadata", 0},
      {"metadata", "0.0.5"}, {"node_types", {{"4", 3}, {"7", 1}}},
      {"ctrl_deps", 4},      {"data_deps", 4},
      {"attr_names", {"a"}}, {"attr_names", {{"comm_type", 1}}},
      {"dur_sum_us", 0},     {"cpu_ops", 0},
      {"comm_nodes", 0},     {"order_head", {3}},
      {"order_hash", "abd"}, {"metadata", json::array({"other"})}};
  for (const auto& [field, wrong] : changes) {
    json value = small_case();
    value[field] = wrong;
    EXPECT_THAT(mismatches_of(value), ::testing::ElementsAre(::testing::HasSubstr(field))) << field;
  }
}

}  // namespace
}  // namespace simmesh
