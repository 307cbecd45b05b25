#pragma once

#include <simdjson.h>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/read/json_stream.h"
#include "replay/read/json_value_reader.h"
#include "replay/read/label_comm.h"
#include "replay/read/node_arguments.h"
#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// NodeReader adds the nodes of an execution trace to it, one after another: flat ones of schema
// 1.0.1, nested ones of later schemas, told apart by their fields.
class NodeReader {
 public:
  explicit NodeReader(ExecutionTrace& trace) : trace_(trace) {}

  // read adds a node, or a finding (rule "node_fields") where it has no id. Raises a
  // JsonFault for what can't be read.
  void read(JsonPiece piece);

  const JsonRepairs& repairs() const { return values_.repairs(); }
  // take_labels returns the operators that communicate, for adopt_labels.
  std::vector<AdoptedLabel> take_labels() { return std::move(labels_); }

 private:
  void read_id(const simdjson::dom::element& value);
  void read_field(std::string_view key, const simdjson::dom::element& value);
  void read_side(const simdjson::dom::element& side, NodeArguments& arguments);
  void read_attributes(const simdjson::dom::element& list);
  void set_attribute(std::string_view name, const simdjson::dom::element& value);
  void set_number(std::int64_t& number, const simdjson::dom::element& value);
  void set_text(TextId& text, const simdjson::dom::element& value);
  void require_fields();
  void finish();
  void read_groups();
  void report(std::string_view field, std::string message);

  ExecutionTrace& trace_;
  JsonValueReader values_;
  std::vector<AdoptedLabel> labels_;
  // The node that is being read.
  TraceNode node_;
  NodeArguments inputs_;
  NodeArguments outputs_;
  unsigned fields_ = 0;  // that were present, by bits
  bool has_bad_id_ = false;
  std::uint32_t attributes_begin_ = 0;
};

}  // namespace simmesh::replay
