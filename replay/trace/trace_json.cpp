#include "replay/trace/trace_json.h"

#include <fmt/format.h>
#include <string>
#include <utility>

namespace simmesh::replay {

namespace {

JsonValue integers_json(gsl::span<const std::int64_t> numbers) {
  JsonValue::List list;
  for (std::int64_t number : numbers) list.push_back(JsonValue(number));
  return {std::move(list)};
}

JsonValue text_json(std::string_view text) { return JsonValue(std::string(text)); }

JsonValue groups_json(const std::vector<ProcessGroupRecord>& groups) {
  if (groups.empty()) return {};
  JsonValue::List list;
  for (const ProcessGroupRecord& group : groups) {
    JsonValue::Object fields;
    fields.emplace_back("pg_name", JsonValue(group.name));
    if (group.has_description) fields.emplace_back("pg_desc", JsonValue(group.description));
    fields.emplace_back("ranks", integers_json(group.ranks));
    fields.emplace_back("group_size", JsonValue(group.size));
    list.push_back({std::move(fields)});
  }
  return {std::move(list)};
}

template <class Key>
JsonValue counts_json(const std::map<Key, std::int64_t>& counts) {
  JsonValue::Object fields;
  for (const auto& [key, count] : counts)
    fields.emplace_back(fmt::format("{}", key), JsonValue(count));
  return {std::move(fields)};
}

JsonValue request_json(const TraceRequest& request) {
  if (!request.is_point_to_point) return JsonValue(request.sequence);
  return {JsonValue::List{JsonValue(request.sequence), JsonValue(*request.is_point_to_point)}};
}

JsonValue group_json(const ExecutionTrace& trace, const TraceGroup& group) {
  if (!group.name_and_description) return JsonValue(group.address);
  auto [name, description] = *group.name_and_description;
  return {JsonValue::List{text_json(trace.text(name)), text_json(trace.text(description))}};
}

JsonValue attributes_json(const ExecutionTrace& trace, TraceRange range) {
  JsonValue::Object fields;
  for (const TraceAttribute& attribute : trace.attributes_in(range)) {
    const auto* number = std::get_if<std::int64_t>(&attribute.value);
    JsonValue value =
        number ? JsonValue(*number) : text_json(trace.text(std::get<TextId>(attribute.value)));
    fields.emplace_back(std::string(trace.text(attribute.name)), std::move(value));
  }
  return {std::move(fields)};
}

JsonValue tensors_json(const ExecutionTrace& trace, TraceRange range) {
  JsonValue::List list;
  for (const TraceTensor& tensor : trace.tensors_in(range))
    list.push_back(
        {JsonValue::List{text_json(trace.text(tensor.type)), JsonValue(tensor.elements)}});
  return {std::move(list)};
}

}  // namespace

JsonValue summary_json(const TraceSummary& summary) {
  JsonValue::Object fields;
  auto add = [&](const char* name, std::int64_t value) {
    fields.emplace_back(name, JsonValue(value));
  };
  fields.emplace_back("schema", JsonValue(summary.schema));
  add("nodes", summary.nodes);
  add("unique_ids", summary.unique_ids);
  add("min_id", summary.min_id);
  add("max_id", summary.max_id);
  add("root", summary.root);
  add("operators", summary.operators);
  add("all_operators", summary.all_operators);
  add("triton", summary.triton);
  add("comm_nodes", summary.comm_nodes);
  fields.emplace_back("comm_by_name", counts_json(summary.comm_by_name));
  fields.emplace_back("steps", integers_json(summary.steps));
  add("file_order_inversions", summary.file_order_inversions);
  add("orphans", summary.orphans);
  add("backward_parent", summary.backward_parent);
  fields.emplace_back("threads", counts_json(summary.threads));
  add("tensor_tuples", summary.tensor_tuples);
  add("tensor_ids", summary.tensor_ids);
  add("storages", summary.storages);
  add("storage_ids", summary.storage_ids);
  add("undefined_tensors", summary.undefined_tensors);
  add("tuples_with_two_shapes", summary.tuples_with_two_shapes);
  fields.emplace_back("strides", JsonValue(summary.strides));
  add("tensor_ranges", summary.tensor_ranges);
  add("process_group_nodes", summary.process_group_nodes);
  fields.emplace_back("process_groups", groups_json(summary.process_groups));
  return {std::move(fields)};
}

JsonValue comm_json(const ExecutionTrace& trace, const TraceNode& node, const TraceComm& comm) {
  JsonValue::Object fields;
  fields.emplace_back("node", JsonValue(node.id));
  fields.emplace_back("name", text_json(trace.text(comm.name)));
  fields.emplace_back("req", request_json(comm.request));
  fields.emplace_back("group", group_json(trace, comm.group));
  fields.emplace_back("rank", JsonValue(comm.rank));
  fields.emplace_back("in_split", integers_json(trace.numbers_in(comm.in_split)));
  fields.emplace_back("out_split", integers_json(trace.numbers_in(comm.out_split)));
  fields.emplace_back("in", JsonValue(comm.in_elements));
  fields.emplace_back("out", JsonValue(comm.out_elements));
  fields.emplace_back("dtype",
                      comm.has_tensors() ? text_json(trace.text(comm.dtype)) : JsonValue());
  if (comm.attributes.size() > 0)
    fields.emplace_back("attrs", attributes_json(trace, comm.attributes));
  return {std::move(fields)};
}

JsonValue comm_list_json(const ExecutionTrace& trace, const ReplayList& list) {
  JsonValue::List comms;
  for (std::uint32_t i : list.operators)
    if (const TraceComm* comm = trace.comm_of(trace.nodes[i]))
      comms.push_back(comm_json(trace, trace.nodes[i], *comm));
  return {std::move(comms)};
}

JsonValue label_list_json(const ExecutionTrace& trace) {
  JsonValue::List labels;
  for (const TraceNode& node : trace.nodes) {
    if (!trace.text(node.name).starts_with("c10d::")) continue;
    JsonValue::List lists;
    for (std::uint32_t i = node.integer_lists.begin; i < node.integer_lists.end; ++i)
      lists.push_back(integers_json(trace.numbers_in(trace.ranges[i])));
    JsonValue::Object fields;
    fields.emplace_back("node", JsonValue(node.id));
    fields.emplace_back("name", text_json(trace.text(node.name)));
    fields.emplace_back("in", tensors_json(trace, node.inputs));
    fields.emplace_back("out", tensors_json(trace, node.outputs));
    fields.emplace_back("ints", JsonValue{std::move(lists)});
    labels.push_back({std::move(fields)});
  }
  return {std::move(labels)};
}

}  // namespace simmesh::replay
