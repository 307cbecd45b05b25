#include "replay/write/write_execution_trace.h"

#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/write_file.h"
#include "replay/record/json_words.h"
#include "replay/write/argument_lists.h"
#include "replay/write/gzip.h"
#include "replay/write/make_folder.h"

namespace simmesh::replay {

namespace {

std::string json_of(const ArgumentLists& lists) {
  return fmt::format(R"({{"values": {}, "shapes": {}, "types": {}, "strides": {}}})", lists.values,
                     lists.shapes, lists.types, lists.strides);
}

std::string attributes_of(const ExecutionTrace& trace, const TraceNode& node) {
  std::string text;
  auto add = [&](std::string_view name, std::string_view type, std::string_view value) {
    text += fmt::format(R"({}{{"name": {}, "type": "{}", "value": {}}})", text.empty() ? "" : ",",
                        json_text(name), type, value);
  };
  auto number = [&](std::string_view name, std::int64_t value) {
    add(name, name == "seq_id" ? "int64" : "uint64", std::to_string(value));
  };
  number("rf_id", node.record_function);
  number("fw_parent", node.forward_parent);
  number("seq_id", node.sequence);
  number("scope", node.scope);
  number("tid", node.thread);
  number("fw_tid", node.forward_thread);
  add("op_schema", "string", json_text(trace.text(node.op_schema)));
  add("kernel_backend", "string", json_text(trace.text(node.kernel_backend)));
  add("kernel_file", "string", "\"\"");
  add("tensor_range", "string", json_text(trace.text(node.tensor_range)));
  for (const TraceAttribute& attribute : trace.attributes_in(node.attributes)) {
    std::string_view name = trace.text(attribute.name);
    const std::int64_t* value = std::get_if<std::int64_t>(&attribute.value);
    if (!value)
      add(name, "string", json_text(trace.text(std::get<TextId>(attribute.value))));
    else  // PyTorch calls this one a text.
      add(name, name == "is_asynchronized_op" ? "string" : "uint64", std::to_string(*value));
  }
  return text;
}

void write_node(const ExecutionTrace& trace, const TraceNode& node, std::string& out) {
  out += fmt::format(R"(
      {{
        "id": {}, "name": {}, "ctrl_deps": {},
        "inputs": {},
        "outputs": {},
        "attrs": [{}]
      }})",
                     node.id, json_text(trace.text(node.name)), node.parent,
                     json_of(input_lists(trace, node)), json_of(output_lists(trace, node)),
                     attributes_of(trace, node));
}

}  // namespace

std::string to_json(const ExecutionTrace& trace) {
  if (!trace.has_strides && !trace.tensors.empty())
    raise(ErrorKind::value_error, "replay/write",
          "expected a trace with strides, which schema 1.1.1 has, got one in schema {} without",
          trace.schema.text);
  std::string text = fmt::format(
      R"({{
  "schema": "1.1.1-chakra.0.0.4", "pid": 0, "time": "1970-01-01 00:00:00", "start_ts": {},
  "nodes": [)",
      trace.start_ms);
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    if (i > 0) text += ',';
    write_node(trace, trace.nodes[i], text);
  }
  return text + fmt::format("\n  ],\n  \"finish_ts\": {}\n}}\n", trace.finish_ms);
}

void write_execution_trace(const std::string& path, const ExecutionTrace& trace) {
  std::string text = to_json(trace);
  write_file(path, path.ends_with(".gz") ? gzip(text) : text, "the execution trace");
}

void write_job(const TraceJob& job, const std::string& folder) {
  make_folder(folder, "the execution traces");
  for (const RankTrace& rank : job.ranks)
    write_execution_trace(fmt::format("{}/rank-{}.json.gz", folder, rank.rank), rank.trace);
}

}  // namespace simmesh::replay
