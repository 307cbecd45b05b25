#include "replay/read/node_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/trace_text.h"

namespace simmesh::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ExecutionTrace only_node(std::string_view node, std::string_view schema = "1.0.1") {
  return testing::trace_from(fmt::format(R"({{"schema": "{}", "nodes": [{}]}})", schema, node));
}

TEST(NodeReader, ReadsTheFlatForm) {
  ExecutionTrace trace = only_node(
      R"({"name": "aten::mm", "id": 8, "rf_id": 4, "parent": 7, "fw_parent": 3, "seq_id": 440,)"
      R"("scope": 1, "tid": 2, "fw_tid": 1, "op_schema": "aten::mm(Tensor self) -> Tensor",)"
      R"("inputs": [[5,6,0,112,4,"cuda:0"],[48],"x"], "input_shapes": [[112],[[]],[]],)"
      R"~("input_types": ["Tensor(float)","GenericList[Int]","String"],)~"
      R"("outputs": [[9,6,0,48,4,"cuda:0"]], "output_shapes": [[48]],)"
      R"~("output_types": ["Tensor(float)"]})~");
  EXPECT_THAT(trace.findings, IsEmpty());
  ASSERT_THAT(trace.nodes, SizeIs(1));
  const TraceNode& node = trace.nodes[0];
  EXPECT_EQ(node.id, 8);
  EXPECT_EQ(node.parent, 7);
  EXPECT_EQ(node.record_function, 4);
  EXPECT_EQ(node.forward_parent, 3);
  EXPECT_EQ(node.sequence, 440);
  EXPECT_EQ(node.scope, 1);
  EXPECT_EQ(node.thread, 2);
  EXPECT_EQ(node.forward_thread, 1);
  EXPECT_EQ(trace.text(node.name), "aten::mm");
  EXPECT_EQ(trace.text(node.op_schema), "aten::mm(Tensor self) -> Tensor");
  EXPECT_EQ(trace.tensors_in(node.inputs).size(), 1u);
  EXPECT_EQ(trace.tensors_in(node.outputs).front().tensor, 9);
  EXPECT_FALSE(trace.has_strides);
}

// Would fail if an id in quotes were read as node 0.
TEST(NodeReader, AnIdIsANumber) {
  for (const char* id : {"\"17\"", "null", "1.5"}) {
    ExecutionTrace trace = only_node(
        fmt::format(R"({{"name": "a", "id": {}, "ctrl_deps": 1, "inputs": {{}}, "outputs": {{}}, )"
                    R"("attrs": []}})",
                    id));
    ASSERT_THAT(trace.findings, SizeIs(1)) << id;
    EXPECT_EQ(trace.findings[0].rule, "node_fields");
    EXPECT_EQ(trace.findings[0].field, "id");
    EXPECT_THAT(trace.findings[0].message, ::testing::HasSubstr("expected a number, got"));
    EXPECT_THAT(trace.nodes, IsEmpty());
  }
}

TEST(NodeReader, ReadsTheNestedForm) {
  ExecutionTrace trace = testing::trace_from(testing::trace_text(
      {{.id = 3,
        .parent = 2,
        .outputs = testing::tensor_lists(5, 4),
        .more_attributes =
            R"(,{"name": "seq_id", "type": "int64", "value": -1})"
            R"(,{"name": "kernel_backend", "type": "string", "value": "triton"})"
            R"(,{"name": "tensor_range", "type": "string", "value": "{\"0\":[0,5]}"})"}}));
  EXPECT_THAT(trace.findings, IsEmpty());
  const TraceNode& node = *trace.find(3);
  EXPECT_EQ(node.parent, 2);
  EXPECT_EQ(node.record_function, 7);
  EXPECT_EQ(node.sequence, -1);
  EXPECT_EQ(trace.text(node.kernel_backend), "triton");
  EXPECT_EQ(trace.text(node.tensor_range), R"({"0":[0,5]})");
  EXPECT_EQ(trace.tensors_in(node.outputs).size(), 1u);
  EXPECT_TRUE(trace.has_strides);
}

TEST(NodeReader, ReportsFieldsThatAreNotThere) {
  auto fields = [](std::string_view node) {
    std::vector<std::string> names;
    for (const Finding& finding : only_node(node).findings) {
      EXPECT_EQ(finding.rule, "node_fields");
      names.push_back(finding.field);
    }
    return names;
  };
  EXPECT_THAT(fields(R"({"id": 3, "name": "a", "ctrl_deps": 1, "inputs": {}, "outputs": {}})"),
              ElementsAre("attrs"));
  EXPECT_THAT(fields(R"({"id": 3, "name": "a", "parent": 1, "inputs": [], "input_shapes": [],)"
                     R"("input_types": [], "outputs": []})"),
              ElementsAre("output_shapes", "output_types"));
  EXPECT_THAT(fields("{}"), ElementsAre("id", "name", "inputs", "outputs", "ctrl_deps", "attrs"));
  EXPECT_THAT(fields("7"), ElementsAre(""));
  EXPECT_THAT(fields(R"({"id": 3, "name": "a", "ctrl_deps": 1, "inputs": {}, "outputs": {},)"
                     R"("attrs": 5})"),
              ElementsAre("attrs"));
}

TEST(NodeReader, OnlyTheFirstRecordOfGroupsCounts) {
  auto group_node = [](std::int64_t id, const std::string& text) {
    return testing::NodeText{.id = id,
                             .parent = 2,
                             .name = "## process_group:init ##",
                             .inputs = {"\"" + text + "\"", "[]", "\"String\"", "[]"}};
  };
  ExecutionTrace trace = testing::trace_from(testing::trace_text(
      {group_node(3, R"([{\"pg_name\": \"0\", \"ranks\": [], \"group_size\": 4}])"),
       group_node(4, R"([{\"pg_name\": \"1\"}])")}));
  EXPECT_EQ(trace.process_group_nodes, 2u);
  ASSERT_THAT(trace.process_groups, SizeIs(1));
  EXPECT_EQ(trace.process_groups[0].name, "0");
  EXPECT_EQ(trace.process_groups[0].size, 4);

  ExecutionTrace cut = testing::trace_from(
      testing::trace_text({group_node(3, R"([{\"pg_name\": \"0\", \"ranks\": [)")}));
  ASSERT_THAT(cut.findings, SizeIs(1));
  EXPECT_EQ(cut.findings[0].rule, "process_groups");
  EXPECT_EQ(cut.findings[0].severity, Severity::warning);
  EXPECT_THAT(cut.process_groups, IsEmpty());
}

}  // namespace
}  // namespace simmesh::replay
