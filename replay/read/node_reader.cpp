#include "replay/read/node_reader.h"

#include <array>
#include <fmt/format.h>
#include <initializer_list>

#include "replay/read/process_group_record.h"
#include "replay/read/read_comm.h"

namespace simmesh::replay {

namespace dom = simdjson::dom;

namespace {

// The fields of which some are required, in each form.
enum NodeField : unsigned {
  field_id,
  field_name,
  field_parent,
  field_ctrl_deps,
  field_inputs,
  field_input_shapes,
  field_input_types,
  field_outputs,
  field_output_shapes,
  field_output_types,
  field_attrs
};
constexpr std::array<std::string_view, 11> field_names = {
    "id",          "name",    "parent",        "ctrl_deps",    "inputs", "input_shapes",
    "input_types", "outputs", "output_shapes", "output_types", "attrs"};

}  // namespace

void NodeReader::read(JsonPiece piece) {
  node_ = {};
  inputs_ = outputs_ = {};
  fields_ = 0;
  has_bad_id_ = false;
  attributes_begin_ = std::uint32_t(trace_.attributes.size());
  dom::element node = values_.read(piece);
  if (!node.is_object()) return report("", "expected a node as an object, got something else");
  for (dom::key_value_pair field : dom::object(node)) read_field(field.key, field.value);
  require_fields();
  if (fields_ & (1u << field_id)) finish();
}

void NodeReader::read_field(std::string_view key, const dom::element& value) {
  for (std::size_t i = 0; i < field_names.size(); ++i)
    if (field_names[i] == key) fields_ |= 1u << i;
  if (key == "id") return read_id(value);
  if (key == "name") return set_text(node_.name, value);
  if (key == "parent" || key == "ctrl_deps") return set_number(node_.parent, value);
  if (key == "inputs") return read_side(value, inputs_);
  if (key == "outputs") return read_side(value, outputs_);
  if (key == "attrs") return read_attributes(value);
  if (key == "input_shapes")
    inputs_.shapes = value;
  else if (key == "input_types")
    inputs_.types = value;
  else if (key == "output_shapes")
    outputs_.shapes = value;
  else if (key == "output_types")
    outputs_.types = value;
  else if (!value.is_object() && !value.is_array())
    set_attribute(key, value);
}

// A number in quotes is no id: nodes that name it as their parent wouldn't find it.
void NodeReader::read_id(const dom::element& value) {
  if (value.get_int64().get(node_.id) == simdjson::SUCCESS) return;
  fields_ &= ~(1u << field_id);
  std::string_view text;
  report("id", value.get_string().get(text) == simdjson::SUCCESS
                   ? fmt::format("expected a number, got the text '{}'", shown_bytes(text))
                   : "expected a number, got something else");
  has_bad_id_ = true;
}

// The flat form has the values here and everything else beside them.
void NodeReader::read_side(const dom::element& side, NodeArguments& arguments) {
  if (!side.is_object()) {
    arguments.values = side;
    return;
  }
  for (dom::key_value_pair field : dom::object(side)) {
    if (field.key == "values") arguments.values = field.value;
    if (field.key == "shapes") arguments.shapes = field.value;
    if (field.key == "types") arguments.types = field.value;
    if (field.key != "strides") continue;
    arguments.strides = field.value;
    trace_.has_strides = true;
  }
}

void NodeReader::read_attributes(const dom::element& list) {
  if (!list.is_array()) return report("attrs", "expected a list, got something else");
  for (dom::element attribute : dom::array(list)) {
    if (!attribute.is_object()) {
      report("attrs", "expected attributes as objects, got something else");
      continue;
    }
    std::string_view name;
    std::optional<dom::element> value;
    for (dom::key_value_pair field : dom::object(attribute)) {
      if (field.key == "name" && field.value.is_string()) name = field.value;
      if (field.key == "value") value = field.value;
    }
    if (value) set_attribute(name, *value);
  }
}

// In the flat form these are fields of the node, and other fields aren't attributes of a
// communication.
void NodeReader::set_attribute(std::string_view name, const dom::element& value) {
  if (name == "rf_id") return set_number(node_.record_function, value);
  if (name == "fw_parent") return set_number(node_.forward_parent, value);
  if (name == "seq_id") return set_number(node_.sequence, value);
  if (name == "scope") return set_number(node_.scope, value);
  if (name == "tid") return set_number(node_.thread, value);
  if (name == "fw_tid") return set_number(node_.forward_thread, value);
  if (name == "op_schema") return set_text(node_.op_schema, value);
  if (name == "kernel_backend") return set_text(node_.kernel_backend, value);
  if (name == "tensor_range") return set_text(node_.tensor_range, value);
  if (name == "kernel_file") return;
  TraceAttribute attribute{.name = trace_.texts.id_of(name), .value = std::int64_t(0)};
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS)
    attribute.value = trace_.texts.id_of(text);
  else
    set_number(std::get<std::int64_t>(attribute.value), value);
  trace_.attributes.push_back(attribute);
}

void NodeReader::set_number(std::int64_t& number, const dom::element& value) {
  std::int64_t recorded = 0;
  if (value.get_int64().get(recorded) == simdjson::SUCCESS) number = recorded;
}

void NodeReader::set_text(TextId& text, const dom::element& value) {
  std::string_view recorded;
  if (value.get_string().get(recorded) == simdjson::SUCCESS) text = trace_.texts.id_of(recorded);
}

void NodeReader::require_fields() {
  auto has = [&](NodeField field) { return (fields_ & (1u << field)) != 0; };
  auto require = [&](std::initializer_list<NodeField> fields) {
    for (NodeField field : fields)
      if (!has(field))
        report(field_names[field],
               fmt::format("expected the field '{}', got none", field_names[field]));
  };
  if (!has_bad_id_) require({field_id});
  require({field_name, field_inputs, field_outputs});
  if (has(field_parent))
    require({field_input_shapes, field_input_types, field_output_shapes, field_output_types});
  else
    require({field_ctrl_deps, field_attrs});
}

void NodeReader::finish() {
  bool is_label = trace_.text(node_.name).starts_with("c10d::");
  node_.integer_lists.begin = std::uint32_t(trace_.ranges.size());
  node_.inputs = ArgumentReader(trace_, {node_.id, "inputs", is_label}).tensors(inputs_);
  node_.integer_lists.end = std::uint32_t(trace_.ranges.size());
  node_.outputs = ArgumentReader(trace_, {node_.id, "outputs", false}).tensors(outputs_);
  node_.attributes = {attributes_begin_, std::uint32_t(trace_.attributes.size())};
  if (is_communication(trace_, node_) && inputs_.values && inputs_.values->is_array()) {
    node_.comm = std::uint32_t(trace_.comms.size());
    trace_.comms.push_back(
        read_comm({node_, inputs_.values->get_array(), node_.attributes}, trace_));
  }
  if (is_label && inputs_.values && inputs_.values->is_array())
    if (auto label = read_label_comm(trace_.text(node_.name), inputs_.values->get_array()))
      labels_.push_back({node_.id, std::move(*label)});
  if (trace_.text(node_.name).find("process_group:init") != std::string_view::npos) read_groups();
  trace_.nodes.push_back(node_);
}

void NodeReader::read_groups() {
  if (++trace_.process_group_nodes > 1 || !inputs_.values || !inputs_.values->is_array()) return;
  try {
    for (dom::element text : dom::array(*inputs_.values))
      trace_.process_groups = read_process_groups(text);
  } catch (const simdjson::simdjson_error& error) {
    trace_.findings.push_back(
        {.severity = Severity::warning,
         .rule = "process_groups",
         .rank = std::nullopt,
         .node = node_.id,
         .field = "inputs",
         .message = fmt::format("expected a list of groups as JSON: {}", error.what())});
  }
}

void NodeReader::report(std::string_view field, std::string message) {
  std::optional<std::int64_t> node;
  if (fields_ & (1u << field_id)) node = node_.id;
  trace_.findings.push_back({.severity = Severity::error,
                             .rule = "node_fields",
                             .rank = std::nullopt,
                             .node = node,
                             .field = std::string(field),
                             .message = std::move(message)});
}

}  // namespace simmesh::replay
