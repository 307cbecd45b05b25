#include <fmt/format.h>
#include <simdjson.h>

#include "replay/chakra/read_chakra.h"
#include "replay/read/bad_trace.h"

namespace simmesh::replay {

namespace {

namespace dom = simdjson::dom;

[[noreturn]] void refuse_graph(const std::string& rule, const ByteSource& source,
                               std::string_view what) {
  throw BadTrace(rule, "replay/chakra", fmt::format("{}: {}", source.name(), what));
}

std::string text_of_source(ByteSource& source) {
  std::string text;
  constexpr std::size_t block = 1 << 16;
  for (std::size_t count = 0;;) {
    text.resize(count + block);
    std::size_t more = source.read({text.data() + count, block});
    count += more;
    if (more > 0) continue;
    text.resize(count);
    return text;
  }
}

// The entries of a list decide its kind; a mixed list is kept as text.
ChakraValue list_value(dom::array list) {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> texts;
  for (dom::element entry : list) {
    if (entry.is_int64())
      numbers.push_back(std::int64_t(entry));
    else if (entry.is_string())
      texts.emplace_back(std::string_view(entry));
  }
  if (numbers.size() == list.size()) return numbers;
  if (texts.size() == list.size()) return texts;
  return std::string(simdjson::minify(list));
}

ChakraValue json_value(dom::element value) {
  if (value.is_bool()) return bool(value);
  if (value.is_int64()) return std::int64_t(value);
  if (value.is_uint64()) return std::uint64_t(value);
  if (value.is_double()) return double(value);
  if (value.is_string()) return std::string(std::string_view(value));
  if (value.is_array()) return list_value(value);
  if (value.is_null()) return std::monostate();
  return std::string(simdjson::minify(value));
}

ChakraNodeType node_type(dom::element value) {
  if (value.is_uint64()) {
    std::uint64_t number(value);
    return number < 256 ? ChakraNodeType(number) : ChakraNodeType::invalid;
  }
  if (!value.is_string()) return ChakraNodeType::invalid;
  for (std::uint8_t number = 0; number < 8; ++number)
    if (to_string(ChakraNodeType(number)) == std::string_view(value)) return ChakraNodeType(number);
  return ChakraNodeType::invalid;
}

std::vector<std::uint64_t> ids_of(dom::element value) {
  std::vector<std::uint64_t> ids;
  for (dom::element id : value.get_array()) ids.push_back(id.get_uint64());
  return ids;
}

void read_node_field(std::string_view key, dom::element value, ChakraNode& node) {
  if (key == "Id")
    node.id = value.get_uint64();
  else if (key == "Name")
    node.name = std::string_view(value);
  else if (key == "NodeType")
    node.type = node_type(value);
  else if (key == "data_deps")
    node.data_deps = ids_of(value);
  else if (key == "ctrl_deps")
    node.ctrl_deps = ids_of(value);
  else if (key == "runtime" && value.is_uint64())
    node.duration_us = value.get_uint64();
  else
    node.attributes.push_back({std::string(key), json_value(value)});
}

ChakraNode read_graph_node(dom::object fields, const ByteSource& source, std::size_t place) {
  ChakraNode node;
  bool has_id = false;
  for (auto [key, value] : fields) {
    try {
      read_node_field(key, value, node);
    } catch (const simdjson::simdjson_error& error) {
      refuse_graph("node_fields", source,
                   fmt::format("node {} of the list: {}: {}", place, key, error.what()));
    }
    has_id |= key == "Id";
  }
  if (!has_id)
    refuse_graph("node_fields", source,
                 fmt::format("node {} of the list: expected the field Id, got none", place));
  return node;
}

}  // namespace

ChakraTrace read_chakra_json(ByteSource& source) {
  simdjson::padded_string text(text_of_source(source));
  dom::parser parser;
  dom::element root;
  if (auto error = parser.parse(text).get(root))
    refuse_graph("json", source, simdjson::error_message(error));
  dom::array graph;
  if (root["workload_graph"].get(graph))
    refuse_graph("top_level", source, "expected an object with a list workload_graph");
  ChakraTrace trace;
  for (auto [key, value] : root.get_object())
    if (key != "workload_graph") trace.metadata.push_back({std::string(key), json_value(value)});
  for (dom::element entry : graph) {
    dom::object fields;
    if (entry.get(fields))
      refuse_graph("node_fields", source,
                   fmt::format("node {} of the list: expected an object", trace.nodes.size()));
    trace.nodes.push_back(read_graph_node(fields, source, trace.nodes.size()));
  }
  return trace;
}

}  // namespace simmesh::replay
