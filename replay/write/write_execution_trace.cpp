#include "replay/write/write_execution_trace.h"

#include <algorithm>
#include <fmt/format.h>
#include <gsl/span>

#include "core/check/error.h"
#include "core/check/write_file.h"
#include "replay/record/json_words.h"
#include "replay/write/gzip.h"
#include "replay/write/make_folder.h"

namespace simmesh::replay {

namespace {

constexpr std::string_view write_place = "replay/write";

// Arguments are the four lists that a node's inputs or outputs are in JSON.
class Arguments {
 public:
  void add(std::string_view value, std::string_view shape, std::string_view type,
           std::string_view strides) {
    append(values_, value);
    append(shapes_, shape);
    append(types_, json_text(type));
    append(strides_, strides);
  }
  // Of an argument that is no tensor: as many empty shapes as a list has entries.
  void add_other(std::string_view value, std::string_view type, std::size_t entries = 0) {
    std::string shape;
    for (std::size_t i = 0; i < entries; ++i) shape += i > 0 ? ",[]" : "[]";
    shape = "[" + shape + "]";
    add(value, shape, type, shape);
  }
  std::string text() const {
    return fmt::format(R"({{"values": [{}], "shapes": [{}], "types": [{}], "strides": [{}]}})",
                       values_, shapes_, types_, strides_);
  }

 private:
  static void append(std::string& list, std::string_view entry) {
    if (!list.empty()) list += ',';
    list += entry;
  }

  std::string values_, shapes_, types_, strides_;
};

std::string compact_list(gsl::span<const std::int64_t> numbers) {
  return fmt::format("[{}]", fmt::join(numbers.data(), numbers.data() + numbers.size(), ","));
}

// TensorText is one tensor's entries in the four lists.
struct TensorText {
  std::string value, shape, type, strides;
};

// NodeWriter writes the nodes of one trace.
class NodeWriter {
 public:
  explicit NodeWriter(const ExecutionTrace& trace) : trace_(trace) {}

  void write(const TraceNode& node, std::string& out) const;

 private:
  std::string_view text(TextId id) const { return trace_.text(id); }
  TensorText tensor(const TraceTensor& tensor, std::int64_t node) const;
  void add_tensors(TraceRange range, std::int64_t node, Arguments& to) const;
  void add_tensor_list(TraceRange range, std::int64_t node, Arguments& to) const;
  void add_numbers(TraceRange range, Arguments& to) const;
  Arguments inputs(const TraceNode& node) const;
  Arguments comm_inputs(const TraceNode& node, const TraceComm& comm) const;
  std::string attributes(const TraceNode& node) const;

  const ExecutionTrace& trace_;
};

TensorText NodeWriter::tensor(const TraceTensor& tensor, std::int64_t node) const {
  if (!tensor.strides && tensor.is_defined)
    raise(ErrorKind::value_error, write_place,
          "node {}: expected tensors with strides, which schema 1.1.1 has, got tensor {} of a "
          "trace in schema {} without",
          node, tensor.tensor, trace_.schema.text);
  return {.value = fmt::format("[{},{},{},{},{},{}]", tensor.tensor, tensor.storage, tensor.offset,
                               tensor.elements, tensor.item_bytes, json_text(text(tensor.device))),
          .shape = compact_list(trace_.numbers_in(tensor.shape)),
          .type = fmt::format("Tensor({})", text(tensor.type)),
          .strides = compact_list(trace_.numbers_in(tensor.strides.value_or(TraceRange{})))};
}

void NodeWriter::add_tensors(TraceRange range, std::int64_t node, Arguments& to) const {
  for (const TraceTensor& each : trace_.tensors_in(range)) {
    TensorText text = tensor(each, node);
    to.add(text.value, text.shape, text.type, text.strides);
  }
}

void NodeWriter::add_tensor_list(TraceRange range, std::int64_t node, Arguments& to) const {
  TensorText list;
  for (const TraceTensor& each : trace_.tensors_in(range)) {
    TensorText text = tensor(each, node);
    std::string_view separator = list.value.empty() ? "" : ",";
    list.value += fmt::format("{}{}", separator, text.value);
    list.shape += fmt::format("{}{}", separator, text.shape);
    list.type += fmt::format("{}{}", separator, text.type);
    list.strides += fmt::format("{}{}", separator, text.strides);
  }
  to.add("[" + list.value + "]", "[" + list.shape + "]", fmt::format("GenericList[{}]", list.type),
         "[" + list.strides + "]");
}

void NodeWriter::add_numbers(TraceRange range, Arguments& to) const {
  gsl::span<const std::int64_t> numbers = trace_.numbers_in(range);
  std::string types;
  for (std::size_t i = 0; i < numbers.size(); ++i) types += i > 0 ? ",Int" : "Int";
  to.add_other(compact_list(numbers), fmt::format("GenericList[{}]", types), numbers.size());
}

// The entries of "[1,2]" and of "GenericList[Int,Int]".
std::size_t entries_of(std::string_view type) {
  if (!type.starts_with("GenericList[") || type == "GenericList[]") return 0;
  return std::size_t(std::count(type.begin(), type.end(), ',')) + 1;
}

Arguments NodeWriter::inputs(const TraceNode& node) const {
  Arguments result;
  std::uint32_t position = 0;
  std::uint32_t tensor = node.inputs.begin;
  auto add_tensors_before = [&](std::uint32_t end) {
    for (; position < end && tensor < node.inputs.end; ++position, ++tensor)
      add_tensors({tensor, tensor + 1}, node.id, result);
  };
  for (std::uint32_t i = node.arguments.begin; i < node.arguments.end; ++i, ++position) {
    const TraceArgument& argument = trace_.arguments[i];
    add_tensors_before(argument.position);
    result.add_other(text(argument.value), text(argument.type), entries_of(text(argument.type)));
  }
  add_tensors({tensor, node.inputs.end}, node.id, result);
  if (node.arguments.size() == 0)
    for (std::uint32_t i = node.integer_lists.begin; i < node.integer_lists.end; ++i)
      add_numbers(trace_.ranges[i], result);
  return result;
}

Arguments NodeWriter::comm_inputs(const TraceNode& node, const TraceComm& comm) const {
  Arguments result;
  if (comm.has_tensors()) add_tensor_list(node.inputs, node.id, result);
  const TraceRequest& request = comm.request;
  if (request.is_point_to_point)
    result.add_other(fmt::format("[{},{}]", request.sequence, *request.is_point_to_point),
                     "Tuple[Int,Bool]");
  else
    result.add_other(std::to_string(request.sequence), "Int");
  if (const auto& name = comm.group.name_and_description)
    result.add_other(
        fmt::format("[{},{}]", json_text(text(name->first)), json_text(text(name->second))),
        "Tuple[String,String]");
  else
    result.add_other(std::to_string(comm.group.address), "Int");
  result.add_other(std::to_string(comm.rank), "Int");
  result.add_other(json_text(text(comm.name)), "String");
  add_numbers(comm.in_split, result);
  add_numbers(comm.out_split, result);
  result.add_other(std::to_string(comm.global_rank_start), "Int");
  result.add_other(std::to_string(comm.global_rank_stride), "Int");
  result.add_other(std::to_string(comm.group_size), "Int");
  if (comm.is_asynchronous) result.add_other(*comm.is_asynchronous ? "true" : "false", "Bool");
  return result;
}

std::string NodeWriter::attributes(const TraceNode& node) const {
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
  add("op_schema", "string", json_text(trace_.text(node.op_schema)));
  add("kernel_backend", "string", json_text(trace_.text(node.kernel_backend)));
  add("kernel_file", "string", "\"\"");
  add("tensor_range", "string", json_text(trace_.text(node.tensor_range)));
  for (const TraceAttribute& attribute : trace_.attributes_in(node.attributes)) {
    std::string_view name = trace_.text(attribute.name);
    const std::int64_t* value = std::get_if<std::int64_t>(&attribute.value);
    if (!value)
      add(name, "string", json_text(trace_.text(std::get<TextId>(attribute.value))));
    else  // PyTorch calls this one a text.
      add(name, name == "is_asynchronized_op" ? "string" : "uint64", std::to_string(*value));
  }
  return text;
}

void NodeWriter::write(const TraceNode& node, std::string& out) const {
  const TraceComm* comm = trace_.comm_of(node);
  Arguments given = comm ? comm_inputs(node, *comm) : inputs(node);
  Arguments results;
  if (!comm)
    add_tensors(node.outputs, node.id, results);
  else if (node.outputs.size() > 0)
    add_tensor_list(node.outputs, node.id, results);
  out += fmt::format(R"(
      {{
        "id": {}, "name": {}, "ctrl_deps": {},
        "inputs": {},
        "outputs": {},
        "attrs": [{}]
      }})",
                     node.id, json_text(text(node.name)), node.parent, given.text(), results.text(),
                     attributes(node));
}

}  // namespace

std::string to_json(const ExecutionTrace& trace) {
  std::string text = fmt::format(
      R"({{
  "schema": "1.1.1-chakra.0.0.4", "pid": 0, "time": "1970-01-01 00:00:00", "start_ts": {},
  "nodes": [)",
      trace.start_ms);
  NodeWriter writer(trace);
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    if (i > 0) text += ',';
    writer.write(trace.nodes[i], text);
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
