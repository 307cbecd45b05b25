#include "replay/read/read_execution_trace.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <simdjson.h>
#include <string>
#include <utility>

#include "replay/read/bad_trace.h"
#include "replay/read/json_stream.h"
#include "replay/read/node_reader.h"
#include "replay/read/read_ahead.h"
#include "replay/read/unpack.h"
#include "replay/trace/finding_at.h"

namespace simmesh::replay {

namespace {

constexpr std::string_view read_place = "replay/read";

// TraceReader collects the top level of a trace.
class TraceReader {
 public:
  TraceReader(ByteSource& source, OperatorLabels labels)
      : source_(source), labels_(labels), nodes_(trace_) {}

  ExecutionTrace read() {
    read_json_object(
        source_, {.list = [&](std::string_view key) { has_nodes_ |= key == "nodes"; },
                  .element =
                      [&](std::string_view key, JsonPiece piece) {
                        if (key == "nodes") read_node(piece);
                      },
                  .value = [&](std::string_view key, JsonPiece piece) { read_value(key, piece); }});
    if (trace_.schema.text.empty()) refuse("top_level", "expected a schema, got none");
    if (!has_nodes_) refuse("top_level", "expected a list 'nodes', got none");
    if (nodes_.repairs().sum() > 0)
      trace_.findings.push_back(warning_at(
          "json_text", {}, "read although it isn't JSON: " + to_string(nodes_.repairs())));
    sort_nodes();
    if (labels_ == OperatorLabels::are_communications) adopt_labels(nodes_.take_labels(), trace_);
    return std::move(trace_);
  }

 private:
  void read_node(JsonPiece piece) {
    try {
      nodes_.read(piece);
    } catch (const JsonFault& fault) {
      refuse("json", fmt::format("entry {} of 'nodes', byte {}: {}", trace_.nodes.size(),
                                 fault.offset, fault.message));
    }
  }

  void read_value(std::string_view key, JsonPiece piece) {
    try {
      simdjson::dom::element value = values_.read(piece);
      if (key == "schema") read_schema(value);
      if (key == "start_ts" && value.is_int64()) trace_.start_ms = value.get_int64();
      if (key == "finish_ts" && value.is_int64()) trace_.finish_ms = value.get_int64();
    } catch (const JsonFault& fault) {
      refuse("json",
             fmt::format("field '{}', byte {}: {}", shown_bytes(key), fault.offset, fault.message));
    }
    if (key == "nodes") refuse("top_level", "expected 'nodes' as a list, got something else");
  }

  void read_schema(const simdjson::dom::element& value) {
    if (!value.is_string())
      refuse("top_level", "expected the schema as a text, got something else");
    TraceSchema& schema = trace_.schema;
    schema.text = std::string(std::string_view(value));
    std::string_view rest = std::string_view(schema.text).substr(0, schema.text.find('-'));
    for (int* part : {&schema.major, &schema.minor, &schema.patch}) {
      auto result = std::from_chars(rest.data(), rest.data() + rest.size(), *part);
      if (result.ec != std::errc())
        refuse("schema", fmt::format("expected a schema such as '1.1.1-chakra.0.0.4', got '{}'",
                                     schema.text));
      rest.remove_prefix(std::size_t(result.ptr - rest.data()));
      if (rest.starts_with('.')) rest.remove_prefix(1);
    }
    if (schema.major != 1)
      refuse("schema", fmt::format("expected a schema 1.x, got '{}'", schema.text));
  }

  void sort_nodes() {
    auto by_id = [](const TraceNode& a, const TraceNode& b) { return a.id < b.id; };
    for (std::size_t i = 1; i < trace_.nodes.size(); ++i)
      trace_.file_order_inversions += by_id(trace_.nodes[i], trace_.nodes[i - 1]);
    std::stable_sort(trace_.nodes.begin(), trace_.nodes.end(), by_id);
  }

  [[noreturn]] void refuse(std::string rule, std::string_view message) {
    throw BadTrace(std::move(rule), read_place, fmt::format("{}: {}", source_.name(), message));
  }

  ByteSource& source_;
  OperatorLabels labels_;
  ExecutionTrace trace_;
  NodeReader nodes_;
  JsonValueReader values_;  // of the fields beside the nodes
  bool has_nodes_ = false;
};

}  // namespace

ExecutionTrace read_execution_trace(ByteSource& source, OperatorLabels labels) {
  return TraceReader(source, labels).read();
}

ExecutionTrace read_execution_trace(const std::string& path) {
  std::optional<ExecutionTrace> trace;
  for_each_file(path, [&](ByteSource& source) {
    if (trace)
      raise(ErrorKind::value_error, read_place, "{}: expected one file, got several", path);
    ReadAhead ahead(source);
    trace = read_execution_trace(ahead);
  });
  if (!trace) raise(ErrorKind::value_error, read_place, "{}: expected a trace, got no file", path);
  return std::move(*trace);
}

}  // namespace simmesh::replay
