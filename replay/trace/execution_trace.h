#pragma once

#include <cstdint>
#include <gsl/span>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "replay/trace/finding.h"
#include "replay/trace/text_pool.h"

namespace simmesh::replay {

// TraceRange is the range of a node's entries in one of the lists of its trace.
struct TraceRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  std::uint32_t size() const { return end - begin; }
};

// TraceTensor is a tensor among the inputs or outputs of a node, which PyTorch writes as [tensor
// id, storage id, offset, elements, bytes an element, device], with its shape and type. The same
// tensor occurs once for each node that has it.
struct TraceTensor {
  std::int64_t tensor = 0;
  std::int64_t storage = 0;
  std::int64_t offset = 0;    // in elements, within the storage
  std::int64_t elements = 0;  // of this view
  std::int64_t item_bytes = 0;
  TextId device = {};     // "cuda:0"; empty where the trace has none
  TextId type = {};       // inside "Tensor(...)": "float", "long int", "c10::Half"
  TraceRange shape = {};  // in ExecutionTrace::numbers
  // The strides, in elements; nullopt where the schema has none.
  std::optional<TraceRange> strides;

  // Undefined tensors have no storage, or lack a device where others have one.
  bool is_defined = true;
};

// TraceArgument is an input that is no tensor: its place among the inputs, its type ("Int",
// "GenericList[Int,Int]", "None"), and its value as JSON. Only traces of our own runs have them.
struct TraceArgument {
  std::uint32_t position = 0;
  TextId type = {};
  TextId value = {};
};

// TraceAttribute is an attribute of a node beyond those that all nodes have, such as
// "in_msg_nelems" and "pg_name" of communications, with its recorded value.
struct TraceAttribute {
  TextId name = {};
  std::variant<std::int64_t, TextId> value;
};

// TraceRequest tells a collective, or a message, from others: a number, and since the end of 2024 a
// number within the group together with whether it is point-to-point.
struct TraceRequest {
  std::int64_t sequence = 0;
  std::optional<bool> is_point_to_point;

  bool operator==(const TraceRequest&) const = default;
  auto operator<=>(const TraceRequest&) const = default;
};

// TraceGroup is a process group as a rank records it: its name and description, or an address where
// the schema is older than 1.0.3. Neither means anything on another rank.
struct TraceGroup {
  std::int64_t address = 0;
  std::optional<std::pair<TextId, TextId>> name_and_description;

  bool operator==(const TraceGroup&) const = default;
};

// TraceComm is the collective, message or wait of a node "record_param_comms".
struct TraceComm {
  TextId name = {};  // as recorded: "allreduce", "_allgather_base", "wait"
  TraceRequest request;
  TraceGroup group;
  // The own rank within the group; the root of rooted operations; the peer of send and recv.
  std::int64_t rank = 0;
  // Elements to and from each member, along the first dim; empty: equal parts.
  TraceRange in_split;  // in ExecutionTrace::numbers
  TraceRange out_split;
  std::int64_t in_elements = 0;  // summed over the tensors
  std::int64_t out_elements = 0;
  TextId dtype = {};  // in c10's words: "Float", "BFloat16", "Long"; empty without tensors
  // The group's, where the schema has them (1.0.3 and newer), else -1, -1 and 0.
  std::int64_t global_rank_start = -1;
  std::int64_t global_rank_stride = -1;
  std::int64_t group_size = 0;
  std::optional<bool> is_asynchronous;  // recorded by PyTorch 2.13 and newer
  TraceRange attributes;                // in ExecutionTrace::attributes

  bool has_tensors() const { return dtype != TextId{}; }
};

// TraceNode is a node of an execution trace: an operator, an annotation, a thread.
struct TraceNode {
  std::int64_t id = 0;
  std::int64_t parent = 0;
  TextId name = {};
  TextId op_schema = {};  // "aten::mm(Tensor self, Tensor mat2) -> Tensor"; empty for annotations
  TextId kernel_backend = {};  // "triton"
  TextId tensor_range = {};    // JSON text {"0":[min,max]} of integer inputs
  std::int64_t thread = 0;
  std::int64_t forward_parent = 0;
  std::int64_t forward_thread = 0;
  std::int64_t sequence = -1;        // ties a backward operator to its forward
  std::int64_t record_function = 0;  // joins with a timeline
  std::int64_t scope = 0;            // 0 function, 1 backward, 7 user annotation
  TraceRange inputs;                 // in ExecutionTrace::tensors
  TraceRange outputs;
  // The lists of integers among the inputs: each as a range of ExecutionTrace::numbers.
  TraceRange integer_lists;           // in ExecutionTrace::ranges
  std::optional<std::uint32_t> comm;  // in ExecutionTrace::comms
  TraceRange arguments;               // in ExecutionTrace::arguments
  TraceRange attributes;              // in ExecutionTrace::attributes; of a communication its own
};

// ProcessGroupRecord is one group of the annotation "## process_group:init ##".
struct ProcessGroupRecord {
  std::string name;
  std::string description;
  bool has_description = false;     // an empty one differs from none
  std::string backend;              // "cuda:nccl"
  std::vector<std::int64_t> ranks;  // global ones; empty: all ranks
  std::int64_t size = 0;
  std::int64_t count = 0;
};

// TraceSchema is "<PyTorch's version>-chakra.<Chakra's version>", the second part optional.
struct TraceSchema {
  std::string text;
  int major = 0, minor = 0, patch = 0;

  bool is_at_least(int a, int b, int c) const {
    return std::pair(major, std::pair(minor, patch)) >= std::pair(a, std::pair(b, c));
  }
};

// ExecutionTrace is the trace that PyTorch's ExecutionTraceObserver writes for one rank: the tree
// of the operators of a program, in the order in which they began, with their tensors. Nodes are
// sorted by id, whatever their order in the file.
//
//   ExecutionTrace trace = read_execution_trace("rank-0.json.gz");
//   for (const TraceNode& node : trace.nodes)
//     for (const TraceTensor& input : trace.tensors_in(node.inputs)) ...
struct ExecutionTrace {
  TraceSchema schema;
  std::int64_t start_ms = 0;
  std::int64_t finish_ms = 0;
  std::vector<TraceNode> nodes;
  std::vector<TraceComm> comms;
  std::vector<TraceTensor> tensors;
  std::vector<TraceArgument> arguments;
  std::vector<TraceAttribute> attributes;
  std::vector<TraceRange> ranges;
  std::vector<std::int64_t> numbers;
  TextPool texts;
  // The nodes that describe groups, and the contents of the first of them.
  std::size_t process_group_nodes = 0;
  std::vector<ProcessGroupRecord> process_groups;
  bool has_strides = false;
  // Neighbours in the file of which the second has the smaller id.
  std::size_t file_order_inversions = 0;
  // The reader's findings about single nodes; it continues after each.
  Findings findings;

  gsl::span<const TraceTensor> tensors_in(TraceRange range) const {
    return gsl::span(tensors).subspan(range.begin, range.size());
  }
  gsl::span<const std::int64_t> numbers_in(TraceRange range) const {
    return gsl::span(numbers).subspan(range.begin, range.size());
  }
  gsl::span<const TraceAttribute> attributes_in(TraceRange range) const {
    return gsl::span(attributes).subspan(range.begin, range.size());
  }
  std::string_view text(TextId id) const { return texts[id]; }
  // comm_of returns the communication of a node; null where it has none.
  const TraceComm* comm_of(const TraceNode& node) const {
    return node.comm ? &comms[*node.comm] : nullptr;
  }
  // find returns the node of an id (the first of several); null where there is none.
  const TraceNode* find(std::int64_t id) const;
};

// is_communication is true if a node is named "record_param_comms", and for an operator such as
// "c10d::allreduce_" if no node of that name is above or below it, as in jobs on gloo.
bool is_communication(const ExecutionTrace& trace, const TraceNode& node);

// end_bytes returns where a view ends within its storage, in bytes: with strides (offset + 1 +
// sum((size - 1) * stride)) * item_bytes, or offset * item_bytes where it is empty; without strides
// (offset + elements) * item_bytes. With uses_strides false it always takes the second formula.
std::int64_t end_bytes(const ExecutionTrace& trace, const TraceTensor& tensor,
                       bool uses_strides = true);

}  // namespace simmesh::replay
