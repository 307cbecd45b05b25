#include "replay/read/node_reader.h"

#include <array>
#include <fmt/format.h>

#include "replay/read/process_group_record.h"
#include "replay/read/read_comm.h"

namespace simmesh::replay {

namespace ondemand = simdjson::ondemand;

enum class NodeReader::Field : unsigned {
  id,
  name,
  parent,
  ctrl_deps,
  inputs,
  input_shapes,
  input_types,
  outputs,
  output_shapes,
  output_types,
  attrs
};

namespace {

constexpr std::array<std::string_view, 11> field_names = {
    "id",          "name",    "parent",        "ctrl_deps",    "inputs", "input_shapes",
    "input_types", "outputs", "output_shapes", "output_types", "attrs"};

}  // namespace

void NodeReader::read(JsonPiece piece) {
  json_.clear();
  node_ = {};
  inputs_ = outputs_ = {};
  fields_ = 0;
  attributes_begin_ = std::uint32_t(trace_.attributes.size());
  ondemand::document document =
      parser_.iterate(piece.text.data(), piece.text.size(), piece.text.size() + JsonPiece::padding);
  if (document.type().value() != ondemand::json_type::object)
    return report("node_fields", "", "expected a node as an object, got something else");
  for (auto field : document.get_object()) read_field(field.unescaped_key(), field.value());
  require_fields();
  if (fields_ & (1u << unsigned(Field::id))) finish();
}

void NodeReader::see(Field field) { fields_ |= 1u << unsigned(field); }

void NodeReader::read_field(std::string_view key, ondemand::value value) {
  // The fields of the flat form that are attributes in the nested one.
  static constexpr std::array<std::string_view, 8> flat = {
      "rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid", "op_schema", "kernel_backend"};
  for (std::string_view name : flat)
    if (name == key) return set_attribute(key, json_.add(value));
  for (std::size_t i = 0; i < field_names.size(); ++i) {
    if (field_names[i] != key) continue;
    see(Field(i));
    break;
  }
  if (key == "id") return set_number(node_.id, json_.add(value));
  if (key == "name") return set_text(node_.name, json_.add(value));
  if (key == "parent" || key == "ctrl_deps") return set_number(node_.parent, json_.add(value));
  if (key == "inputs") return read_side(value, inputs_);
  if (key == "outputs") return read_side(value, outputs_);
  if (key == "attrs") return read_attributes(value);
  if (key == "input_shapes") inputs_.shapes = json_.add(value);
  if (key == "input_types") inputs_.types = json_.add(value);
  if (key == "output_shapes") outputs_.shapes = json_.add(value);
  if (key == "output_types") outputs_.types = json_.add(value);
}

// The flat form has the values here and all else beside them.
void NodeReader::read_side(ondemand::value side, NodeArguments& arguments) {
  if (side.type().value() != ondemand::json_type::object) {
    arguments.values = json_.add(side);
    return;
  }
  for (auto field : side.get_object()) {
    std::string_view key = field.unescaped_key();
    if (key == "values") arguments.values = json_.add(field.value());
    if (key == "shapes") arguments.shapes = json_.add(field.value());
    if (key == "types") arguments.types = json_.add(field.value());
    if (key != "strides") continue;
    arguments.strides = json_.add(field.value());
    trace_.has_strides = true;
  }
}

void NodeReader::read_attributes(ondemand::value list) {
  if (list.type().value() != ondemand::json_type::array) {
    report("node_fields", "attrs", "expected a list, got something else");
    return;
  }
  for (ondemand::value entry : list.get_array()) {
    if (entry.type().value() == ondemand::json_type::object)
      read_attribute(entry.get_object());
    else
      report("node_fields", "attrs", "expected attributes as objects, got something else");
  }
}

void NodeReader::read_attribute(ondemand::object attribute) {
  std::string_view name;
  std::optional<JsonValues::Index> value;
  for (auto field : attribute) {
    std::string_view key = field.unescaped_key();
    if (key == "name") {
      JsonValues::Index index = json_.add(field.value());
      name = json_[index].text;
    } else if (key == "value") {
      value = json_.add(field.value());
    }
  }
  if (value) set_attribute(name, *value);
}

void NodeReader::set_attribute(std::string_view name, JsonValues::Index value) {
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
  const JsonValues::Value& recorded = json_[value];
  TraceAttribute attribute{.name = trace_.texts.id_of(name), .value = recorded.integer};
  if (recorded.kind == JsonValues::Kind::text) attribute.value = trace_.texts.id_of(recorded.text);
  trace_.attributes.push_back(attribute);
}

void NodeReader::set_number(std::int64_t& number, JsonValues::Index value) {
  if (json_.is(value, JsonValues::Kind::integer)) number = json_[value].integer;
}

void NodeReader::set_text(TextId& text, JsonValues::Index value) {
  if (json_.is(value, JsonValues::Kind::text)) text = trace_.texts.id_of(json_[value].text);
}

void NodeReader::require_fields() {
  auto has = [&](Field field) { return (fields_ & (1u << unsigned(field))) != 0; };
  auto require = [&](std::initializer_list<Field> fields) {
    for (Field field : fields)
      if (!has(field))
        report("node_fields", field_names[std::size_t(field)],
               fmt::format("expected the field '{}', got none", field_names[std::size_t(field)]));
  };
  require({Field::id, Field::name, Field::inputs, Field::outputs});
  if (has(Field::parent))
    require({Field::input_shapes, Field::input_types, Field::output_shapes, Field::output_types});
  else
    require({Field::ctrl_deps, Field::attrs});
}

void NodeReader::finish() {
  bool is_label = trace_.text(node_.name).starts_with("c10d::");
  node_.integer_lists.begin = std::uint32_t(trace_.ranges.size());
  ArgumentReader arguments(json_, trace_);
  node_.inputs = arguments.tensors(inputs_, node_.id, "inputs", is_label);
  node_.integer_lists.end = std::uint32_t(trace_.ranges.size());
  node_.outputs = arguments.tensors(outputs_, node_.id, "outputs", false);
  node_.attributes = {attributes_begin_, std::uint32_t(trace_.attributes.size())};
  if (is_communication(trace_, node_) && inputs_.values &&
      json_.is(*inputs_.values, JsonValues::Kind::list)) {
    node_.comm = std::uint32_t(trace_.comms.size());
    trace_.comms.push_back(read_comm({node_, *inputs_.values, node_.attributes}, json_, trace_));
  }
  if (trace_.text(node_.name).find("process_group:init") != std::string_view::npos) read_groups();
  trace_.nodes.push_back(node_);
}

void NodeReader::read_groups() {
  if (++trace_.process_group_nodes > 1 || !inputs_.values) return;
  JsonValues::Index values = *inputs_.values;
  if (!json_.is(values, JsonValues::Kind::list) || json_.size(values) == 0) return;
  try {
    trace_.process_groups = read_process_groups(json_[json_.first(values)].text);
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

void NodeReader::report(std::string_view rule, std::string_view field, std::string message) {
  std::optional<std::int64_t> node;
  if (fields_ & (1u << unsigned(Field::id))) node = node_.id;
  trace_.findings.push_back({.severity = Severity::error,
                             .rule = std::string(rule),
                             .rank = std::nullopt,
                             .node = node,
                             .field = std::string(field),
                             .message = std::move(message)});
}

}  // namespace simmesh::replay
