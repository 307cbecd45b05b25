#include "replay/chakra/from_chakra.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/check/json_value.h"
#include "replay/chakra/chakra_order.h"
#include "replay/read/json_repair.h"
#include "replay/trace/comm_kind.h"
#include "replay/trace/finding_at.h"

namespace simmesh::replay {

namespace {

constexpr std::int64_t root_id = 1, thread_id = 2;

std::string json_quoted(std::string_view text) { return JsonValue(text).text(); }

std::optional<std::int64_t> integer_of_value(const ChakraValue* value) {
  if (!value) return std::nullopt;
  if (const auto* number = std::get_if<std::int64_t>(value)) return *number;
  if (const auto* number = std::get_if<std::uint64_t>(value)) return std::int64_t(*number);
  return std::nullopt;
}

std::string text_of_value(const ChakraValue* value) {
  const auto* text = value ? std::get_if<std::string>(value) : nullptr;
  return text ? *text : "";
}

std::string name_of(ChakraCommType type) {
  switch (type) {
    case ChakraCommType::all_reduce: return "allreduce";
    case ChakraCommType::reduce: return "reduce";
    case ChakraCommType::all_gather: return "_allgather_base";
    case ChakraCommType::gather: return "gather";
    case ChakraCommType::scatter: return "scatter";
    case ChakraCommType::broadcast: return "broadcast";
    case ChakraCommType::all_to_all: return "all_to_all";
    case ChakraCommType::reduce_scatter:
    case ChakraCommType::reduce_scatter_block: return "_reduce_scatter_base";
    case ChakraCommType::barrier: return "barrier";
  }
  return "";
}

// Returns the collective in the name of a kernel, the second word of
// "ncclKernel_AllReduce_RING_LL_Sum_float(...)"; other names as they are.
std::string kernel_collective(std::string_view name) {
  if (!name.starts_with("nccl")) return std::string(name);
  std::string_view rest = name.substr(std::min(name.find('_') + 1, name.size()));
  rest = rest.substr(0, rest.find_first_of("_("));
  return std::string(comm_kind(rest) == CommKind::unknown ? name : rest);
}

// True if a node is the host's call of a communication, whose kernel is a node of its own.
bool is_label(const ChakraNode& node) {
  return !node.find("comm_type") &&
         (node.name.starts_with("c10d::") || node.name.starts_with("nccl:"));
}

// JsonSide is a node's inputs or outputs: lists with an entry for each argument.
struct JsonSide {
  std::string values = "[]";
  std::string shapes = "[]";
  std::string types = "[]";
};

std::string side_json(const JsonSide& side) {
  return fmt::format(R"({{"values": {}, "shapes": {}, "types": {}}})", side.values, side.shapes,
                     side.types);
}

JsonSide side_of(const ChakraIo& io) {
  return {json_list(io.values), json_list(io.shapes), json_list(io.types)};
}

// GraphWriter writes the nodes of one rank.
class GraphWriter {
 public:
  GraphWriter(const ChakraTrace& trace, const ChakraRank& rank, Findings& findings)
      : trace_(trace), rank_(rank), findings_(findings) {}

  std::string write() {
    std::unordered_map<std::uint64_t, const ChakraNode*> nodes;
    for (const ChakraNode& node : trace_.nodes)
      if (!nodes.emplace(node.id, &node).second)
        report("duplicate_id", std::int64_t(node.id),
               "expected one node with this id, got several");
    std::vector<std::uint64_t> order = chakra_order(trace_);
    check(nodes, order);
    text_ = R"({"schema": "1.0.3-chakra.0.0.4", "pid": 0, "nodes": [)";
    std::unordered_set<std::uint64_t> written;
    for (std::uint64_t id : order)
      if (written.insert(id).second) write_node(*nodes[id]);
    write_root(thread_id, "[pytorch|profiler|execution_trace|thread]", 1);
    text_ += ",\n";
    write_root(root_id, "[pytorch|profiler|execution_trace|process]", 0);
    return text_ + "]}";
  }

 private:
  void report(std::string_view rule, std::int64_t node, std::string message) {
    findings_.push_back(error_at(rule, {.rank = rank_.rank, .node = node}, std::move(message)));
  }

  void check(const std::unordered_map<std::uint64_t, const ChakraNode*>& nodes,
             const std::vector<std::uint64_t>& order) {
    std::int64_t missing = 0;
    for (const ChakraNode& node : trace_.nodes)
      for (std::uint64_t id : node.data_deps) missing += !nodes.contains(id);
    if (missing > 0)
      findings_.push_back(
          warning_at("chakra_dependency", {.rank = rank_.rank},
                     fmt::format("expected nodes for all dependencies, got none for {} "
                                 "of them",
                                 missing)));
    if (order.size() == trace_.nodes.size()) return;
    std::unordered_set<std::uint64_t> in_order(order.begin(), order.end());
    for (const ChakraNode& node : trace_.nodes) {
      if (in_order.contains(node.id)) continue;
      return report("chakra_cycle", std::int64_t(node.id),
                    fmt::format("'{}': expected dependencies without a cycle, got one at or before "
                                "this node; {} of {} nodes are left out",
                                shown_bytes(node.name), trace_.nodes.size() - order.size(),
                                trace_.nodes.size()));
    }
  }

  void write_root(std::int64_t id, std::string_view name, std::int64_t thread) {
    text_ += fmt::format(
        R"({{"id": {}, "name": "{}", "ctrl_deps": {}, "inputs": {}, "outputs": {}, "attrs": [)"
        R"({{"name": "tid", "type": "uint64", "value": {}}}]}})",
        id, name, root_id, side_json({}), side_json({}), thread);
  }

  void write_node(const ChakraNode& node) {
    JsonSide inputs = side_of(node.inputs), outputs = side_of(node.outputs);
    std::string name = node.name;
    bool is_described = node.is_comm() && name != "record_param_comms" && !is_label(node);
    if (is_described) {
      name = "record_param_comms";
      describe(node, inputs, outputs);
    }
    std::string schema = text_of_value(node.find("op_schema"));
    if (schema.empty() && node.type == ChakraNodeType::comp) schema = node.name;
    text_ += fmt::format(
        R"({{"id": {}, "name": {}, "ctrl_deps": {}, "inputs": {}, "outputs": {}, "attrs": [)"
        R"({{"name": "tid", "type": "uint64", "value": 1}}, )"
        R"({{"name": "op_schema", "type": "string", "value": {}}}]}},)"
        "\n",
        next_id_++, json_quoted(name), thread_id, side_json(inputs), side_json(outputs),
        json_quoted(schema));
  }

  // Writes the arguments that PyTorch records of a communication: its tensors, a request, the
  // group, a rank, the name, splits, and the figures of the group.
  void describe(const ChakraNode& node, JsonSide& inputs, JsonSide& outputs) {
    std::int64_t size = std::max<std::int64_t>(rank_.world_size, 1);
    std::int64_t bytes =
        std::max<std::int64_t>(integer_of_value(node.find("comm_size")).value_or(0), 0);
    std::string name = kernel_collective(node.name);
    std::int64_t rank = rank_.rank, in = bytes, out = bytes;
    auto type = integer_of_value(node.find("comm_type"));
    if (node.type == ChakraNodeType::comm_send || node.type == ChakraNodeType::comm_recv) {
      bool sends = node.type == ChakraNodeType::comm_send;
      name = sends ? "send" : "recv";
      rank = integer_of_value(node.find(sends ? "comm_dst" : "comm_src")).value_or(-1);
      (sends ? out : in) = 0;
    } else if (type && *type >= 0 && *type <= std::int64_t(ChakraCommType::barrier)) {
      name = name_of(ChakraCommType(*type));
      if (is_rooted(comm_kind(name))) rank = integer_of_value(node.find("root")).value_or(0);
      set_elements(comm_kind(name), size, in, out);
    }
    std::string group = text_of_value(node.find("pg_name"));
    bool is_world = group.empty() || group == "0";
    bool has_tensors = comm_kind(name) != CommKind::barrier;
    std::string in_list = tensors_json(in, inputs.shapes, inputs.types);
    std::string request =
        fmt::format("[{}, {}]", next_request_++, is_message(comm_kind(name)) ? "true" : "false");
    inputs.values = fmt::format(R"([{}{}, [{}, ""], {}, {}, [], [], {}, {}, {}])",
                                has_tensors ? in_list + ", " : "", request,
                                json_quoted(is_world ? "0" : group), rank, json_quoted(name),
                                is_world ? 0 : -1, is_world ? 1 : -1, is_world ? size : 0);
    std::string shapes = has_tensors ? inputs.shapes + ", " : "";
    std::string types = has_tensors ? inputs.types + ", " : "";
    inputs.shapes = fmt::format("[{}[[], []], [[], []], [], [], [], [], [], [], []]", shapes);
    inputs.types = fmt::format(
        R"([{}"GenericList[Int,Bool]", "Tuple[String,String]", "Int", "String", "GenericList[]", )"
        R"("GenericList[]", "Int", "Int", "Int"])",
        types);
    outputs.values =
        has_tensors ? "[" + tensors_json(out, outputs.shapes, outputs.types) + "]" : "[]";
    outputs.shapes = has_tensors ? "[" + outputs.shapes + "]" : "[]";
    outputs.types = has_tensors ? "[" + outputs.types + "]" : "[]";
  }

  static bool is_rooted(CommKind kind) {
    return kind == CommKind::broadcast || kind == CommKind::reduce || kind == CommKind::gather ||
           kind == CommKind::scatter;
  }

  // Sizes of what a rank gives and gets; bytes that can't be cut evenly are rounded up.
  static void set_elements(CommKind kind, std::int64_t size, std::int64_t& in, std::int64_t& out) {
    std::int64_t part = (in + size - 1) / size;
    if (kind == CommKind::all_gather_base) out = in * size;
    if (kind == CommKind::reduce_scatter_base) {
      in = part * size;
      out = part;
    }
    if (kind == CommKind::all_to_all) in = out = part * size;
  }

  // Returns a list of one tensor of so many bytes, in floats where these fit; none for no bytes.
  std::string tensors_json(std::int64_t bytes, std::string& shapes, std::string& types) {
    if (bytes == 0) {
      shapes = "[]";
      types = "\"GenericList[]\"";
      return "[]";
    }
    std::int64_t item = bytes % (4 * std::max<std::int64_t>(rank_.world_size, 1)) == 0 ? 4 : 1;
    shapes = fmt::format("[[{}]]", bytes / item);
    types =
        item == 4 ? R"("GenericList[Tensor(float)]")" : R"("GenericList[Tensor(unsigned char)]")";
    std::int64_t tensor = next_tensor_++;
    return fmt::format(R"([[{}, {}, 0, {}, {}, "cuda:0"]])", tensor, tensor, bytes / item, item);
  }

  const ChakraTrace& trace_;
  const ChakraRank& rank_;
  Findings& findings_;
  std::string text_;
  std::int64_t next_id_ = thread_id + 1;
  std::int64_t next_request_ = 0;
  std::int64_t next_tensor_ = std::int64_t(1) << 32;  // above those that a trace has
};

// Translates the constants and quotes of Python.
std::string python_as_json(std::string_view text) {
  std::string json;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto is = [&](std::string_view word) { return text.substr(i, word.size()) == word; };
    if (text[i] == '\'' || text[i] == '"') {
      char quote = text[i];
      json += '"';
      for (++i; i < text.size() && text[i] != quote; ++i) {
        if (text[i] == '"') json += '\\';
        json += text[i];
      }
      json += '"';
    } else if (is("None")) {
      json += "null";
      i += 3;
    } else if (is("True") || is("False")) {
      json += is("True") ? "true" : "false";
      i += is("True") ? 3 : 4;
    } else {
      json += text[i] == '(' ? '[' : text[i] == ')' ? ']' : text[i];
    }
  }
  return json;
}

}  // namespace

std::string execution_trace_json(const ChakraTrace& trace, const ChakraRank& rank,
                                 Findings& findings) {
  return GraphWriter(trace, rank, findings).write();
}

std::string json_list(std::string_view text) {
  for (const std::string& candidate : {std::string(text), python_as_json(text)}) {
    JsonRepairs repairs;
    try {
      std::string json = repaired_json(candidate, repairs);
      if (json.starts_with('[')) return json;
    } catch (const JsonFault&) {
      continue;
    }
  }
  return "[]";
}

}  // namespace simmesh::replay
