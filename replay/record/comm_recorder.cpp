#include "replay/record/comm_recorder.h"

#include "core/tensor/chunk.h"

namespace simmesh::replay {

namespace {

using EventType = CommEvent::Kind;

bool is_coalesced(const CollectiveCall& call) { return call.inputs.size() > 1; }

std::string_view name_of_reduce_scatter(const CollectiveCall& call) {
  if (is_coalesced(call)) return "reduce_scatter_tensor_coalesced";
  return call.uneven ? "reduce_scatter" : "_reduce_scatter_base";
}

std::string_view name_of_all_gather(const CollectiveCall& call) {
  if (is_coalesced(call)) return "allgather_into_tensor_coalesced";
  return call.uneven ? "all_gather" : "_allgather_base";
}

std::string_view recorded_name(const CollectiveCall& call) {
  switch (call.op) {
    case CollectiveOp::barrier: return "barrier";
    case CollectiveOp::all_reduce: return is_coalesced(call) ? "allreduce_coalesced" : "allreduce";
    case CollectiveOp::all_gather: return name_of_all_gather(call);
    case CollectiveOp::all_gather_list: return "all_gather";
    case CollectiveOp::reduce_scatter: return name_of_reduce_scatter(call);
    case CollectiveOp::broadcast:
    case CollectiveOp::broadcast_object: return "broadcast";
    case CollectiveOp::reduce: return "reduce";
    case CollectiveOp::scatter: return "scatter";
    case CollectiveOp::gather: return "gather";
    case CollectiveOp::all_to_all: return "all_to_allv";
    case CollectiveOp::all_to_all_list: return "all_to_all";
  }
  SIMMESH_CHECK(false, "unknown CollectiveOp {}", int(call.op));
}

bool is_uneven_exchange(const CollectiveCall& call) {
  return call.op == CollectiveOp::all_to_all && call.uneven && call.input_splits.empty();
}

bool is_of_uneven_parts(const CollectiveCall& call) {
  bool may_be = call.op == CollectiveOp::all_gather || call.op == CollectiveOp::reduce_scatter;
  return may_be && call.uneven && call.inputs.size() == 1;
}

bool has_tensor(gsl::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors)
    if (tensor.is_defined()) return true;
  return false;
}

Dims element_counts(gsl::span<const Tensor> tensors) {
  Dims counts;
  for (const Tensor& tensor : tensors) counts.push_back(tensor.numel());
  return counts;
}

// Returns the elements for each member of an uneven all_to_all, by the chunk rule.
Dims chunk_elements(const CollectiveCall& call, std::int64_t members) {
  const Tensor& input = call.inputs[0];
  std::int64_t size = input.size(call.scatter_dim);
  Dims counts;
  for (std::int64_t member = 0; member < members; ++member) {
    Chunk chunk = chunk_of({.size = size, .parts = members, .index = member});
    counts.push_back(size == 0 ? 0 : input.numel() / size * chunk.length);
  }
  return counts;
}

// Returns the shape of the result of a started operation; empty where only the other members know
// it.
std::optional<Shape> expected_shape(const CollectiveCall& call, const Tensor& input,
                                    std::int64_t members) {
  Shape shape = input.shape();
  if (call.op == CollectiveOp::all_reduce || call.op == CollectiveOp::broadcast) return shape;
  if (call.uneven) return std::nullopt;
  if (call.op == CollectiveOp::all_gather)
    shape[std::size_t(call.dim)] *= members;
  else if (call.op == CollectiveOp::reduce_scatter)
    shape[std::size_t(call.dim)] /= members;
  else
    return std::nullopt;
  return shape;
}

}  // namespace

void CommRecorder::see(const CommEvent& event, TraceThread thread) {
  switch (event.kind) {
    case EventType::collective: return see_collective(event, thread);
    case EventType::send:
    case EventType::receive: return see_message(event, thread);
    case EventType::wait: return see_wait(event, thread);
  }
}

std::uint32_t CommRecorder::group_of(const ProcessGroup& group) {
  auto [known, is_new] = groups_.emplace(&group.group(), std::uint32_t(recorded_.groups.size()));
  if (is_new) recorded_.groups.push_back({group.members(), group.name()});
  return known->second;
}

std::uint32_t CommRecorder::add(const CommEvent& event, std::string_view name, TraceThread thread) {
  std::uint32_t index = builder_.add("record_param_comms", thread);
  ExecutionTrace& trace = builder_.trace();
  trace.nodes[index].comm = std::uint32_t(trace.comms.size());
  TraceComm& comm = trace.comms.emplace_back();
  comm.name = builder_.text(name);
  comm.rank = event.group.rank();
  comm.is_asynchronous = event.work != nullptr && event.kind != EventType::wait;
  recorded_.comms.push_back({.node = index, .group = group_of(event.group)});
  return index;
}

void CommRecorder::set_inputs(const CommEvent& event, TraceNode& node) {
  // In a broadcast of an object the arguments of the others don't count.
  bool is_filled = event.call->op == CollectiveOp::broadcast_object;
  gsl::span<const Tensor> given = is_filled ? event.results : event.inputs;
  node.inputs = is_uneven_exchange(*event.call) ? builder_.flat(given) : builder_.tensors(given);
}

void CommRecorder::set_outputs(const CommEvent& event, std::uint32_t index, bool& is_promised) {
  is_promised = false;
  const CollectiveCall& call = *event.call;
  TraceRange outputs;
  if (has_tensor(event.results)) {
    outputs =
        is_uneven_exchange(call) ? builder_.flat(event.results) : builder_.tensors(event.results);
  } else if (event.work && !call.inputs.empty()) {
    auto shape = expected_shape(call, event.inputs[0], event.group.size());
    if (shape) outputs = builder_.promised(event.inputs[0].dtype(), *shape);
    is_promised = shape.has_value();
  } else if (call.op == CollectiveOp::reduce) {
    // In place, as in PyTorch: the tensors of the other members aren't touched.
    outputs = builder_.tensors(event.inputs);
  }
  builder_.node(index).outputs = outputs;
}

void CommRecorder::set_splits(const CommEvent& event, TraceComm& comm, RecordedComm& recorded) {
  const CollectiveCall& call = *event.call;
  if (call.op == CollectiveOp::all_to_all_list) {
    comm.in_split = builder_.numbers(element_counts(event.inputs));
    comm.out_split = builder_.numbers(element_counts(event.results));
  } else if (is_uneven_exchange(call)) {
    comm.in_split = builder_.numbers(chunk_elements(call, event.group.size()));
    recorded.lacks_out_split = true;
  } else if (!call.input_splits.empty()) {
    comm.in_split = builder_.numbers(call.input_splits);
    comm.out_split = builder_.numbers(call.output_splits);
  }
}

void CommRecorder::see_collective(const CommEvent& event, TraceThread thread) {
  const CollectiveCall& call = *event.call;
  std::uint32_t index = add(event, recorded_name(call), thread);
  TraceNode& node = builder_.node(index);
  TraceComm& comm = builder_.trace().comms[*node.comm];
  RecordedComm& recorded = recorded_.comms[*node.comm];
  comm.request = {std::int64_t(event.sequence) + 1, false};
  if (facts_of(call.op).has_root) comm.rank = call.root;
  if (facts_of(call.op).reduces) recorded.reduce = call.reduce;
  recorded.factor = call.factor;
  recorded.dim = call.dim;
  recorded.scatter_dim = call.scatter_dim;
  recorded.has_uneven_parts = is_of_uneven_parts(call);
  bool is_promised = false;
  set_inputs(event, node);
  set_outputs(event, index, is_promised);
  set_splits(event, comm, recorded);
  if (event.work) started_[event.work] = {index, *node.comm, is_promised};
}

void CommRecorder::see_message(const CommEvent& event, TraceThread thread) {
  bool sends = event.kind == EventType::send;
  std::uint32_t index = add(event, sends ? "send" : "recv", thread);
  TraceNode& node = builder_.node(index);
  TraceComm& comm = builder_.trace().comms[*node.comm];
  comm.request = {++messages_[&event.group.group()], true};
  comm.rank = event.peer;
  recorded_.comms[*node.comm].tag = event.tag;
  bool is_promised = !sends && event.work;
  node.inputs = is_promised
                    ? builder_.promised(event.dtype, Shape(event.shape.begin(), event.shape.end()))
                    : builder_.tensors(sends ? event.inputs : event.results);
  node.outputs = node.inputs;
  if (event.work) started_[event.work] = {index, *node.comm, is_promised};
}

void CommRecorder::see_wait(const CommEvent& event, TraceThread thread) {
  auto started = started_.find(event.work);
  // It may have begun before the recording.
  if (started == started_.end()) return;
  auto [node, comm, is_promised] = started->second;
  started_.erase(started);
  ExecutionTrace& trace = builder_.trace();
  if (is_promised)
    builder_.bind(trace.nodes[node].outputs, event.results);
  else if (trace.nodes[node].outputs.size() == 0)
    trace.nodes[node].outputs = builder_.tensors(event.results);
  if (trace.comms[comm].rank < 0) trace.comms[comm].rank = event.peer;
  std::uint32_t index = add(event, "wait", thread);
  trace.comms[*trace.nodes[index].comm].request = trace.comms[comm].request;
}

}  // namespace simmesh::replay
