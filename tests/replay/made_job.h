#pragma once

#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replay/job/trace_job.h"

// Traces that are made by hand, for tests of what reads them.
namespace simmesh::testing {

using replay::ExecutionTrace;
using replay::Finding;
using replay::Findings;
using replay::RankTrace;
using replay::Severity;
using replay::TextId;
using replay::TraceAttribute;
using replay::TraceComm;
using replay::TraceJob;
using replay::TraceNode;
using replay::TraceRange;
using replay::TraceTensor;

// MadeComm is a communication node: one tensor for each number of elements.
struct MadeComm {
  std::string name = "allreduce";
  std::string group = "0";
  std::int64_t rank = 0;
  std::vector<std::int64_t> in = {8};
  std::vector<std::int64_t> out = {8};
  std::vector<std::int64_t> in_split = {};
  std::vector<std::int64_t> out_split = {};
  std::string type = "float";
  std::string dtype = "Float";
  std::int64_t item_bytes = 4;
  // The next of its group where there is none.
  std::optional<std::int64_t> sequence = std::nullopt;
};

// MadeTrace makes the trace of one rank: a root, a thread, and the added nodes, from node 3 on.
//
//   RankTrace trace = MadeTrace(0).group("0", {0, 1}).add({.name = "allreduce"}).done();
class MadeTrace {
 public:
  explicit MadeTrace(std::int64_t rank) {
    made_.rank = rank;
    made_.file = fmt::format("rank-{}.json", rank);
    trace().schema = {.text = "1.1.1-chakra.0.0.4", .major = 1, .minor = 1, .patch = 1};
    node("[pytorch|profiler|execution_trace|process]").parent = 1;
    node("[pytorch|profiler|execution_trace|thread]").parent = 1;
  }

  // group adds a record of a group; without ranks of all `size` ranks.
  MadeTrace& group(std::string name, std::vector<std::int64_t> ranks, std::int64_t size = 0) {
    std::int64_t count = ranks.empty() ? size : std::int64_t(ranks.size());
    trace().process_groups.push_back({.name = std::move(name),
                                      .description = "undefined",
                                      .backend = "cuda:nccl",
                                      .ranks = std::move(ranks),
                                      .size = count,
                                      .count = 1});
    return *this;
  }

  // op adds an operator with a tensor as its input, of one dim.
  MadeTrace& op(std::string_view name, std::int64_t elements) {
    TraceNode& made = node(name);
    made.op_schema = trace().texts.id_of(fmt::format("{}(Tensor self) -> Tensor", name));
    made.inputs = tensors({elements}, MadeComm());
    return *this;
  }

  MadeTrace& add(const MadeComm& made) {
    std::int64_t sequence = made.sequence.value_or(++sequences_[made.group]);
    bool has_tensors = !made.in.empty() || !made.out.empty();
    TraceNode& comm_node = node("record_param_comms");
    comm_node.comm = std::uint32_t(trace().comms.size());
    comm_node.inputs = tensors(made.in, made);
    comm_node.outputs = tensors(made.out, made);
    TraceComm comm;
    comm.name = trace().texts.id_of(made.name);
    bool is_message = made.name == "send" || made.name == "recv";
    comm.request = {.sequence = sequence, .is_point_to_point = is_message};
    comm.group.name_and_description =
        std::pair(trace().texts.id_of(made.group), trace().texts.id_of("undefined"));
    comm.rank = made.rank;
    comm.in_split = numbers(made.in_split);
    comm.out_split = numbers(made.out_split);
    for (std::int64_t count : made.in) comm.in_elements += count;
    for (std::int64_t count : made.out) comm.out_elements += count;
    if (has_tensors) comm.dtype = trace().texts.id_of(made.dtype);
    trace().comms.push_back(comm);
    return *this;
  }

  // wait adds a wait for a request, which names no group.
  MadeTrace& wait(std::int64_t sequence, std::int64_t rank) {
    return add(
        {.name = "wait", .group = "", .rank = rank, .in = {}, .out = {}, .sequence = sequence});
  }

  TraceNode& last() { return trace().nodes.back(); }
  TraceComm& last_comm() { return trace().comms.back(); }
  // figures sets the figures that the last communication records about its group.
  MadeTrace& figures(std::int64_t start, std::int64_t stride, std::int64_t size) {
    last_comm().global_rank_start = start;
    last_comm().global_rank_stride = stride;
    last_comm().group_size = size;
    return *this;
  }
  // attribute adds an attribute to the last communication; no other may be between.
  MadeTrace& attribute(std::string_view name, std::variant<std::int64_t, std::string> value) {
    TraceRange& range = last_comm().attributes;
    if (range.size() == 0) range.begin = range.end = std::uint32_t(trace().attributes.size());
    TraceAttribute added{.name = trace().texts.id_of(name), .value = std::int64_t(0)};
    if (const auto* number = std::get_if<std::int64_t>(&value))
      added.value = *number;
    else
      added.value = trace().texts.id_of(std::get<std::string>(value));
    trace().attributes.push_back(added);
    ++range.end;
    return *this;
  }
  ExecutionTrace& trace() { return made_.trace; }
  RankTrace done() { return std::move(made_); }

 private:
  TraceNode& node(std::string_view name) {
    TraceNode added;
    added.id = std::int64_t(trace().nodes.size()) + 1;
    added.parent = 2;
    added.name = trace().texts.id_of(name);
    trace().nodes.push_back(added);
    return trace().nodes.back();
  }

  TraceRange numbers(const std::vector<std::int64_t>& list) {
    TraceRange range{.begin = std::uint32_t(trace().numbers.size())};
    trace().numbers.insert(trace().numbers.end(), list.begin(), list.end());
    range.end = std::uint32_t(trace().numbers.size());
    return range;
  }

  TraceRange tensors(const std::vector<std::int64_t>& counts, const MadeComm& made) {
    TraceRange range{.begin = std::uint32_t(trace().tensors.size())};
    for (std::int64_t count : counts) {
      TraceTensor tensor;
      tensor.tensor = ++ids_;
      tensor.storage = ++ids_;
      tensor.elements = count;
      tensor.item_bytes = made.item_bytes;
      tensor.device = trace().texts.id_of(fmt::format("cuda:{}", made_.rank));
      tensor.type = trace().texts.id_of(made.type);
      tensor.shape = numbers({count});
      trace().tensors.push_back(tensor);
    }
    range.end = std::uint32_t(trace().tensors.size());
    return range;
  }

  RankTrace made_;
  std::int64_t ids_ = 100;
  std::map<std::string, std::int64_t> sequences_;
};

// made_job puts traces together, which must come in rank order.
template <class... Traces>
TraceJob made_job(Traces&&... traces) {
  TraceJob job;
  (job.ranks.push_back(traces.done()), ...);
  return job;
}

// findings_text returns the findings as lines, without notes.
inline std::string findings_text(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings)
    if (finding.severity != Severity::note) text += to_string(finding) + "\n";
  return text;
}

}  // namespace simmesh::testing
