#include "collectives/comm_debug_mode.h"

#include <fmt/format.h>
#include <vector>

namespace simmesh {

namespace {

// CommScopes are the open scopes of a rank.
struct CommScopes {
  std::vector<CommDebugMode*> open;
};

}  // namespace

CommDebugMode::CommDebugMode(Observer observer)
    : rank_(&this_rank()), observer_(std::move(observer)) {
  rank_->state<CommScopes>().open.push_back(this);
  ++rank_->counters()[open_scopes];
}

CommDebugMode::~CommDebugMode() { end(); }

void CommDebugMode::end() {
  if (!rank_) return;
  std::erase(rank_->state<CommScopes>().open, this);
  --rank_->counters()[open_scopes];
  rank_ = nullptr;
}

void CommDebugMode::see_in_scopes(Rank& rank, const CollectiveCall& call) {
  std::uint64_t bytes = 0;
  for (const Tensor& input : call.inputs)
    if (input.is_defined()) bytes += input.bytes();
  for (CommDebugMode* scope : rank.state<CommScopes>().open) {
    Count& count = scope->by_op_[std::size_t(call.op)];
    ++count.calls;
    count.bytes += bytes;
    if (scope->observer_) scope->observer_(call);
    if (facts_of(call.op).reduces && !call.inputs.empty())
      ++scope->reductions_[{call.op, call.reduce, call.inputs[0].dtype()}];
  }
}

std::map<std::string, CommDebugMode::Count> CommDebugMode::get_comm_counts() const {
  std::map<std::string, Count> counts;
  for (std::size_t op = 0; op < collective_op_count; ++op)
    if (by_op_[op].calls > 0) counts[name_of(CollectiveOp(op))] = by_op_[op];
  return counts;
}

std::uint64_t CommDebugMode::get_total_counts() const {
  std::uint64_t calls = 0;
  for (const Count& count : by_op_) calls += count.calls;
  return calls;
}

std::map<std::string, std::uint64_t> CommDebugMode::get_reduction_counts() const {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [kind, calls] : reductions_) {
    const auto& [op, reduce, dtype] = kind;
    counts[fmt::format("{} {} {}", name_of(op), to_string(reduce), to_string(dtype))] = calls;
  }
  return counts;
}

std::string to_string(const CommDebugMode& mode) {
  std::string text;
  for (const auto& [name, count] : mode.get_comm_counts())
    text += fmt::format("{}: {} calls, {} bytes\n", name, count.calls, count.bytes);
  return text;
}

}  // namespace simmesh
