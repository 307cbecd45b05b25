#include "replay/write/argument_lists.h"

#include <algorithm>
#include <fmt/format.h>
#include <gsl/span>

#include "core/check/join_text.h"
#include "replay/record/json_words.h"

namespace simmesh::replay {

namespace {

std::string compact_list(gsl::span<const std::int64_t> numbers) {
  return fmt::format("[{}]", join_text(numbers, ","));
}

void append_entry(std::string& list, std::string_view entry) {
  list.pop_back();
  if (list.size() > 1) list += ',';
  list += entry;
  list += ']';
}

void add_entry(ArgumentLists& lists, const ArgumentLists& entry) {
  append_entry(lists.values, entry.values);
  append_entry(lists.shapes, entry.shapes);
  append_entry(lists.types, json_text(entry.types));
  append_entry(lists.strides, entry.strides);
}

// Adds an argument that is no tensor: it has as many empty shapes as a list has entries.
void add_other(ArgumentLists& lists, std::string_view value, std::string_view type) {
  std::size_t entries = 0;
  std::size_t inside = type.find('[');
  if (inside != std::string_view::npos && type.substr(inside) != "[]")
    entries = std::size_t(std::count(type.begin(), type.end(), ',')) + 1;
  std::string shape = "[";
  for (std::size_t i = 0; i < entries; ++i) shape += i > 0 ? ",[]" : "[]";
  shape += ']';
  add_entry(lists, {std::string(value), shape, std::string(type), shape});
}

ArgumentLists tensor_entry(const ExecutionTrace& trace, const TraceTensor& tensor) {
  return {.values =
              fmt::format("[{},{},{},{},{},{}]", tensor.tensor, tensor.storage, tensor.offset,
                          tensor.elements, tensor.item_bytes, json_text(trace.text(tensor.device))),
          .shapes = compact_list(trace.numbers_in(tensor.shape)),
          .types = fmt::format("Tensor({})", trace.text(tensor.type)),
          .strides = compact_list(trace.numbers_in(tensor.strides.value_or(TraceRange{})))};
}

void add_tensors(const ExecutionTrace& trace, TraceRange range, ArgumentLists& lists) {
  for (const TraceTensor& tensor : trace.tensors_in(range))
    add_entry(lists, tensor_entry(trace, tensor));
}

void add_tensor_list(const ExecutionTrace& trace, TraceRange range, ArgumentLists& lists) {
  ArgumentLists list;
  for (const TraceTensor& tensor : trace.tensors_in(range)) {
    ArgumentLists entry = tensor_entry(trace, tensor);
    append_entry(list.values, entry.values);
    append_entry(list.shapes, entry.shapes);
    append_entry(list.types, entry.types);
    append_entry(list.strides, entry.strides);
  }
  list.types = "GenericList" + list.types;
  add_entry(lists, list);
}

void add_numbers(const ExecutionTrace& trace, TraceRange range, ArgumentLists& lists) {
  gsl::span<const std::int64_t> numbers = trace.numbers_in(range);
  std::string types;
  for (std::size_t i = 0; i < numbers.size(); ++i) types += i > 0 ? ",Int" : "Int";
  add_other(lists, compact_list(numbers), fmt::format("GenericList[{}]", types));
}

ArgumentLists op_inputs(const ExecutionTrace& trace, const TraceNode& node) {
  ArgumentLists lists;
  std::uint32_t position = 0;
  std::uint32_t tensor = node.inputs.begin;
  for (std::uint32_t i = node.arguments.begin; i < node.arguments.end; ++i, ++position) {
    const TraceArgument& argument = trace.arguments[i];
    for (; position < argument.position && tensor < node.inputs.end; ++position, ++tensor)
      add_tensors(trace, {tensor, tensor + 1}, lists);
    add_other(lists, trace.text(argument.value), trace.text(argument.type));
  }
  add_tensors(trace, {tensor, node.inputs.end}, lists);
  if (node.arguments.size() == 0)
    for (std::uint32_t i = node.integer_lists.begin; i < node.integer_lists.end; ++i)
      add_numbers(trace, trace.ranges[i], lists);
  return lists;
}

void add_group(const ExecutionTrace& trace, const TraceGroup& group, ArgumentLists& lists) {
  if (!group.name_and_description) return add_other(lists, std::to_string(group.address), "Int");
  auto [name, description] = *group.name_and_description;
  add_other(lists,
            fmt::format("[{},{}]", json_text(trace.text(name)), json_text(trace.text(description))),
            "Tuple[String,String]");
}

ArgumentLists comm_inputs(const ExecutionTrace& trace, const TraceNode& node,
                          const TraceComm& comm) {
  ArgumentLists lists;
  if (comm.has_tensors()) add_tensor_list(trace, node.inputs, lists);
  const TraceRequest& request = comm.request;
  if (request.is_point_to_point)
    add_other(lists, fmt::format("[{},{}]", request.sequence, *request.is_point_to_point),
              "Tuple[Int,Bool]");
  else
    add_other(lists, std::to_string(request.sequence), "Int");
  add_group(trace, comm.group, lists);
  add_other(lists, std::to_string(comm.rank), "Int");
  add_other(lists, json_text(trace.text(comm.name)), "String");
  add_numbers(trace, comm.in_split, lists);
  add_numbers(trace, comm.out_split, lists);
  add_other(lists, std::to_string(comm.global_rank_start), "Int");
  add_other(lists, std::to_string(comm.global_rank_stride), "Int");
  add_other(lists, std::to_string(comm.group_size), "Int");
  if (comm.is_asynchronous) add_other(lists, *comm.is_asynchronous ? "true" : "false", "Bool");
  return lists;
}

}  // namespace

ArgumentLists input_lists(const ExecutionTrace& trace, const TraceNode& node) {
  const TraceComm* comm = trace.comm_of(node);
  return comm ? comm_inputs(trace, node, *comm) : op_inputs(trace, node);
}

ArgumentLists output_lists(const ExecutionTrace& trace, const TraceNode& node) {
  ArgumentLists lists;
  if (!trace.comm_of(node))
    add_tensors(trace, node.outputs, lists);
  else if (node.outputs.size() > 0)
    add_tensor_list(trace, node.outputs, lists);
  return lists;
}

}  // namespace simmesh::replay
