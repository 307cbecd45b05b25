#include "replay/record/rank_recorder.h"

#include <fmt/format.h>

#include "core/autograd/variable.h"
#include "replay/record/json_words.h"
#include "replay/record/op_words.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::replay {

namespace {

std::string device_of(Rank& rank) {
  return rank.clock() ? fmt::format("cuda:{}", rank.id()) : "cpu";
}

bool is_distributed(const OpCall& call) {
  for (const Tensor& input : call.inputs)
    if (input.distribution()) return true;
  return call.out && call.out->distribution();
}

// "[\"S(0),R\", null]"; empty where no tensor is distributed.
std::string placements_of(gsl::span<const Tensor> tensors) {
  std::string text;
  bool has_any = false;
  for (const Tensor& tensor : tensors) {
    text += text.empty() ? "" : ", ";
    bool is_spread = tensor.distribution() != nullptr;
    text += is_spread ? json_text(to_string(DTensor::in(tensor).placements())) : "null";
    has_any |= is_spread;
  }
  return has_any ? "[" + text + "]" : "";
}

// "[true, false]"; empty where no tensor requires a gradient.
std::string gradients_of(gsl::span<const Tensor> tensors) {
  std::string text;
  bool has_any = false;
  for (const Tensor& tensor : tensors) {
    text += text.empty() ? "" : ", ";
    text += tensor.requires_grad() ? "true" : "false";
    has_any |= tensor.requires_grad();
  }
  return has_any ? "[" + text + "]" : "";
}

}  // namespace

struct RankRecorder::Scopes {
  Scopes(RankRecorder& recorder, Rank& rank)
      : ops([&](const OpSpanEvent& event) { recorder.see(event); }),
        backwards([&](const BackwardSpanEvent& event) { recorder.see(event); }),
        annotations([&](const AnnotationEvent& event) { recorder.see(event); }),
        kernels([&](const TensorLaunch& kernel) { recorder.see(kernel); }),
        comms([&](const CommEvent& event) { recorder.comms_.see(event, recorder.thread()); }) {
    SIMMESH_CHECK(&rank == Rank::active(), "rank {} isn't the one that runs", rank.id());
  }

  ObserverScope<OpSpanEvent> ops;
  ObserverScope<BackwardSpanEvent> backwards;
  ObserverScope<AnnotationEvent> annotations;
  ObserverScope<TensorLaunch> kernels;
  ObserverScope<CommEvent> comms;
  Watch watch;
};

RankRecorder::RankRecorder(Rank& rank) : builder_(device_of(rank)), comms_(builder_, recorded_) {
  TraceNode& groups = builder_.node(builder_.add("## process_group:init ##", TraceThread::main));
  groups.scope = user_scope;
  scopes_ = std::make_shared<Scopes>(*this, rank);
}

RecordedRank RankRecorder::finish() {
  scopes_.reset();
  recorded_.trace = std::move(builder_.trace());
  return std::move(recorded_);
}

void RankRecorder::see(const OpSpanEvent& event) {
  if (event.has_ended)
    end(event.call, event.results);
  else
    begin(event.call);
}

void RankRecorder::set_arguments(const OpCall& call, TraceNode& node) {
  ExecutionTrace& trace = builder_.trace();
  node.arguments.begin = std::uint32_t(trace.arguments.size());
  node.integer_lists.begin = std::uint32_t(trace.ranges.size());
  std::uint32_t position = 0;
  for (const Tensor& input : call.inputs) {
    if (!input.is_defined())
      trace.arguments.push_back(builder_.argument(position, "None", "\"<None>\""));
    ++position;
  }
  for (const auto& [name, value] : call.attributes) {
    RecordedArgument argument = recorded_argument(value);
    trace.arguments.push_back(builder_.argument(position++, argument.type, argument.json));
    if (const Dims* dims = std::get_if<Dims>(&value))
      trace.ranges.push_back(builder_.numbers(*dims));
  }
  node.arguments.end = std::uint32_t(trace.arguments.size());
  node.integer_lists.end = std::uint32_t(trace.ranges.size());
}

void RankRecorder::begin(const OpCall& call) {
  bool is_spread = is_distributed(call);
  std::uint32_t index = builder_.open(recorded_name(call), thread());
  TraceNode& node = builder_.node(index);
  node.inputs = builder_.tensors(call.inputs);
  set_arguments(call, node);
  calls_.push_back(index);
  operators_ += !is_spread;
}

void RankRecorder::set_attributes(const OpCall& call, gsl::span<const Tensor> results,
                                  TraceNode& node) {
  ExecutionTrace& trace = builder_.trace();
  node.attributes.begin = std::uint32_t(trace.attributes.size());
  auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty())
      trace.attributes.push_back({.name = builder_.text(name), .value = builder_.text(value)});
  };
  add("input_placements", placements_of(call.inputs));
  add("output_placements", placements_of(results));
  add("input_requires_grad", gradients_of(call.inputs));
  add("output_requires_grad", gradients_of(results));
  node.attributes.end = std::uint32_t(trace.attributes.size());
}

void RankRecorder::tie_to_backward(gsl::span<const Tensor> results, std::uint32_t index) {
  for (const Tensor& result : results) {
    Variable* variable = result.tracking() ? Variable::of(result) : nullptr;
    if (!variable || !variable->node()) continue;
    std::uint64_t sequence = variable->node()->sequence();
    if (sequence == Node::first || !forward_.emplace(sequence, index).second) continue;
    builder_.node(index).sequence = std::int64_t(sequence);
  }
}

void RankRecorder::end(const OpCall& call, gsl::span<const Tensor> results) {
  std::uint32_t index = calls_.back();
  calls_.pop_back();
  builder_.close(thread());
  TraceNode& node = builder_.node(index);
  node.outputs = builder_.tensors(results);
  set_attributes(call, results, node);
  tie_to_backward(results, index);
  if (is_distributed(call)) return;
  --operators_;
  node.op_schema = builder_.text(schema_of(call, results.size()));
}

void RankRecorder::begin(const Node& node) {
  std::uint32_t index = builder_.open(node.name(), thread());
  TraceNode& recorded = builder_.node(index);
  recorded.scope = backward_scope;
  if (node.sequence() == Node::first) return;
  recorded.sequence = std::int64_t(node.sequence());
  auto forward = forward_.find(node.sequence());
  if (forward == forward_.end()) return;
  recorded.forward_parent = builder_.node(forward->second).id;
  recorded.forward_thread = builder_.node(forward->second).thread;
}

void RankRecorder::see(const BackwardSpanEvent& event) {
  if (!event.node)
    backward_passes_ += event.has_ended ? -1 : 1;
  else if (event.has_ended)
    builder_.close(thread());
  else
    begin(*event.node);
}

void RankRecorder::see(const AnnotationEvent& event) {
  if (event.has_ended) return builder_.close(thread());
  builder_.node(builder_.open(event.name, thread())).scope = user_scope;
}

void RankRecorder::see(const TensorLaunch& kernel) {
  // Within an op it is part of that op.
  if (operators_ > 0) return;
  TraceNode& node = builder_.node(builder_.add(recorded_name(kernel), thread()));
  node.inputs = builder_.tensors(kernel.reads);
  node.outputs = builder_.tensors(kernel.writes);
  node.op_schema = builder_.text(schema_of(kernel));
}

}  // namespace simmesh::replay
