#include "replay/chakra/to_chakra.h"

#include <algorithm>
#include <map>
#include <optional>

#include "replay/trace/comm_kind.h"
#include "replay/trace/replay_list.h"
#include "replay/write/argument_lists.h"

namespace simmesh::replay {

namespace {

using Ids = std::vector<std::uint64_t>;

// DataOrder says what must be done before each node, in their order.
class DataOrder {
 public:
  explicit DataOrder(const ExecutionTrace& trace) : trace_(trace) {}

  Ids before(const TraceNode& node) {
    needed_.clear();
    id_ = std::uint64_t(node.id);
    for (const TraceTensor& input : trace_.tensors_in(node.inputs)) read(input);
    for (const TraceTensor& output : trace_.tensors_in(node.outputs)) write(output);
    if (const TraceComm* comm = trace_.comm_of(node)) order_comm(node, *comm);
    std::sort(needed_.begin(), needed_.end());
    needed_.erase(std::unique(needed_.begin(), needed_.end()), needed_.end());
    std::erase(needed_, id_);
    return needed_;
  }

 private:
  struct Uses {
    std::optional<std::uint64_t> writer;
    Ids readers;  // since it was written
  };
  using Place = std::pair<std::int64_t, TextId>;

  Uses& uses_of(const TraceTensor& tensor) { return uses_[{tensor.storage, tensor.device}]; }
  void read(const TraceTensor& tensor) {
    if (!tensor.is_defined) return;
    Uses& uses = uses_of(tensor);
    if (uses.writer) needed_.push_back(*uses.writer);
    uses.readers.push_back(id_);
  }
  void write(const TraceTensor& tensor) {
    if (!tensor.is_defined) return;
    Uses& uses = uses_of(tensor);
    if (uses.writer) needed_.push_back(*uses.writer);
    needed_.insert(needed_.end(), uses.readers.begin(), uses.readers.end());
    uses = {id_, {}};
  }
  void order_comm(const TraceNode& node, const TraceComm& comm) {
    std::tuple group(comm.group.address, comm.group.name_and_description, comm.global_rank_start);
    auto operation = std::pair(comm.group.name_and_description, comm.request);
    if (trace_.text(comm.name) == "wait") {
      auto started = started_.find(operation);
      if (started == started_.end()) return;
      needed_.push_back(std::uint64_t(started->second->id));
      for (const TraceTensor& output : trace_.tensors_in(started->second->outputs)) write(output);
      return;
    }
    auto [last, is_first] = last_in_group_.emplace(group, id_);
    if (!is_first) needed_.push_back(last->second);
    last->second = id_;
    started_[operation] = &node;
  }

  using Name = std::optional<std::pair<TextId, TextId>>;
  const ExecutionTrace& trace_;
  std::map<Place, Uses> uses_;
  std::map<std::tuple<std::int64_t, Name, std::int64_t>, std::uint64_t> last_in_group_;
  std::map<std::pair<Name, TraceRequest>, const TraceNode*> started_;
  Ids needed_;
  std::uint64_t id_ = 0;
};

std::int64_t bytes_of(const ExecutionTrace& trace, TraceRange range) {
  std::int64_t bytes = 0;
  for (const TraceTensor& tensor : trace.tensors_in(range))
    bytes += tensor.elements * tensor.item_bytes;
  return bytes;
}

// The collective of a communication; nothing for messages, waits and what Chakra has no type for.
std::optional<ChakraCommType> comm_type(CommKind kind) {
  switch (kind) {
    case CommKind::all_reduce:
    case CommKind::all_reduce_coalesced: return ChakraCommType::all_reduce;
    default: return std::nullopt;
  }
}

}  // namespace

}  // namespace simmesh::replay
