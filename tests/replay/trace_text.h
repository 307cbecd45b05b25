#pragma once

#include <fmt/format.h>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "replay/read/byte_source.h"
#include "replay/read/read_execution_trace.h"

namespace simmesh::testing {

// NodeText is a node of an execution trace in schema 1.1.1; the texts are JSON.
struct NodeText {
  std::int64_t id = 0;
  std::int64_t parent = 1;
  std::string name = "aten::add";
  std::string op_schema = {};
  // The entries of the lists of inputs and outputs: values, shapes, types, strides.
  std::vector<std::string> inputs = {"", "", "", ""};
  std::vector<std::string> outputs = {"", "", "", ""};
  std::string more_attributes = {};  // each begins with a comma
  std::int64_t thread = 1;
};

inline std::string side_text(const std::vector<std::string>& lists) {
  return fmt::format(R"({{"values": [{}], "shapes": [{}], "types": [{}], "strides": [{}]}})",
                     lists[0], lists[1], lists[2], lists[3]);
}

inline std::string to_text(const NodeText& node) {
  return fmt::format(
      R"({{"id": {}, "name": "{}", "ctrl_deps": {}, "inputs": {}, "outputs": {}, "attrs": [)"
      R"({{"name": "rf_id", "type": "uint64", "value": 7}},)"
      R"({{"name": "tid", "type": "uint64", "value": {}}},)"
      R"({{"name": "op_schema", "type": "string", "value": "{}"}}{}]}})",
      node.id, node.name, node.parent, side_text(node.inputs), side_text(node.outputs), node.thread,
      node.op_schema, node.more_attributes);
}

// trace_text returns a trace of these nodes, with a root and a root of thread 1, which have the ids
// 1 and 2 and come last, as PyTorch writes them.
inline std::string trace_text(const std::vector<NodeText>& nodes,
                              std::string_view schema = "1.1.1-chakra.0.0.4") {
  std::string text = fmt::format(R"({{"schema": "{}", "pid": 1, "nodes": [)", schema);
  for (const NodeText& node : nodes) text += to_text(node) + ",\n";
  text += to_text({.id = 2, .name = "[pytorch|profiler|execution_trace|thread]"}) + ",\n";
  text += to_text({.id = 1, .name = "[pytorch|profiler|execution_trace|process]", .thread = 0});
  return text + R"(], "finish_ts": 12})";
}

inline replay::ExecutionTrace trace_from(std::string_view text) {
  replay::TextSource source("rank-0.json", text);
  return replay::read_execution_trace(source);
}

// tensor_lists returns a float32 tensor of one dim as the lists of inputs have it.
inline std::vector<std::string> tensor_lists(std::int64_t id, std::int64_t elements) {
  return {fmt::format(R"([{}, {}, 0, {}, 4, "cpu"])", id, id + 1000, elements),
          fmt::format("[{}]", elements), R"~("Tensor(float)")~", "[1]"};
}

}  // namespace simmesh::testing
