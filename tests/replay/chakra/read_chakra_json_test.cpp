#include <gtest/gtest.h>

#include "replay/chakra/read_chakra.h"
#include "replay/read/bad_trace.h"

namespace simmesh::replay {
namespace {

ChakraTrace read_text(std::string_view text) {
  TextSource source("chakra.0.json", text);
  return read_chakra_json(source);
}

std::string rule_of_text(std::string_view text) {
  try {
    read_text(text);
  } catch (const BadTrace& bad) {
    return bad.rule();
  }
  return "";
}

TEST(ReadChakraJson, ReadsNodes) {
  ChakraTrace trace = read_text(R"({"ngpus": 8, "workload_graph": [
      {"Id": 216, "Name": "root", "NodeType": 4, "is_cpu_op": true, "data_deps": []},
      {"Id": 432, "Name": "ncclKernel", "NodeType": "COMM_COLL_NODE", "runtime": 17,
       "data_deps": [216], "ctrl_deps": [1], "comm_type": 0, "comm_size": 1024, "dims": [1, 2],
       "names": ["a"], "half": 0.5, "mixed": [1, "a"], "nothing": null, "more": {"a": 1}}]})");
  ASSERT_EQ(trace.metadata.size(), 1);
  EXPECT_EQ(trace.metadata[0], (ChakraAttribute{"ngpus", std::int64_t(8)}));
  ASSERT_EQ(trace.nodes.size(), 2);
  EXPECT_EQ(trace.nodes[0].type, ChakraNodeType::comp);
  EXPECT_TRUE(trace.nodes[0].is_cpu_op());
  const ChakraNode& node = trace.nodes[1];
  EXPECT_EQ(node.id, 432);
  EXPECT_EQ(node.type, ChakraNodeType::comm_coll);
  EXPECT_EQ(node.duration_us, 17);
  EXPECT_EQ(node.data_deps, std::vector<std::uint64_t>{216});
  EXPECT_EQ(node.ctrl_deps, std::vector<std::uint64_t>{1});
  EXPECT_EQ(*node.find("comm_size"), ChakraValue(std::int64_t(1024)));
  EXPECT_EQ(*node.find("dims"), ChakraValue(std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(*node.find("names"), ChakraValue(std::vector<std::string>{"a"}));
  EXPECT_EQ(*node.find("half"), ChakraValue(0.5));
  EXPECT_EQ(*node.find("mixed"), ChakraValue(std::string("[1,\"a\"]")));
  EXPECT_EQ(*node.find("nothing"), ChakraValue(std::monostate()));
  EXPECT_EQ(*node.find("more"), ChakraValue(std::string("{\"a\":1}")));
}

TEST(ReadChakraJson, SaysWhatIsWrongWithTexts) {
  EXPECT_EQ(rule_of_text("{"), "json");
  EXPECT_EQ(rule_of_text(""), "json");
  EXPECT_EQ(rule_of_text("[]"), "top_level");
  EXPECT_EQ(rule_of_text(R"({"nodes": []})"), "top_level");
  EXPECT_EQ(rule_of_text(R"({"workload_graph": 3})"), "top_level");
  EXPECT_EQ(rule_of_text(R"({"workload_graph": [3]})"), "node_fields");
  EXPECT_EQ(rule_of_text(R"({"workload_graph": [{"Name": "a"}]})"), "node_fields");
  EXPECT_EQ(rule_of_text(R"({"workload_graph": [{"Id": -1}]})"), "node_fields");
  EXPECT_EQ(rule_of_text(R"({"workload_graph": [{"Id": 1, "data_deps": ["a"]}]})"), "node_fields");
  EXPECT_EQ(rule_of_text(R"({"workload_graph": [{"Id": 1, "NodeType": "PLAN"}]})"), "");
}

}  // namespace
}  // namespace simmesh::replay
