#include "pipeline/lowering/send_recv.h"

#include <algorithm>
#include <set>

#include "core/check/error.h"
#include "pipeline/lowering/messages.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;

constexpr const char* send_where = "pipeline/send_recv";

// SendRecvPass has the rows so far, and the actions and messages that each of them contains.
class SendRecvPass {
 public:
  SendRecvPass(const StageMap& map, std::int64_t stages, std::size_t ranks)
      : map_(map), stages_(stages), rows_(ranks), done_(ranks) {}

  bool is_ready(const Action& action, std::size_t rank) const {
    auto leaves = action.leaves();
    return std::all_of(leaves.begin(), leaves.end(),
                       [&](const Action& leaf) { return has_input(leaf, done_[rank]); });
  }

  void add(const Action& action, std::size_t rank) {
    if (action.is_idle()) return;
    rows_[rank].push_back(action);
    for (const Action& leaf : action.leaves()) {
      done_[rank].insert(leaf.key());
      auto send = send_after(leaf, map_, stages_);
      if (!send) continue;
      put(*send, rank);
      put(receive_of(*send), std::size_t(message_peer(*send, map_)));
    }
  }

  Rows take() { return std::move(rows_); }

 private:
  bool has_input(const Action& action, const std::set<ActionKey>& done) const {
    auto has = [&](std::int64_t stage, ActionKind kind) {
      return done.count({stage, kind, action.microbatch}) > 0;
    };
    std::int64_t stage = action.stage;
    if (action.kind == forward && stage != 0) return has(stage, recv_f) || has(stage - 1, forward);
    if (is_backward(action.kind) && stage != stages_ - 1)
      return has(stage, recv_b) || has(stage + 1, backward_input) || has(stage + 1, full_backward);
    return true;
  }

  void put(const ActionKey& message, std::size_t rank) {
    if (rank >= rows_.size())
      raise(ErrorKind::key_error, send_where, "expected a row for rank {}", rank);
    rows_[rank].push_back({message.stage, message.kind, message.microbatch});
    done_[rank].insert(message);
  }

  const StageMap& map_;
  std::int64_t stages_;
  Rows rows_;
  std::vector<std::set<ActionKey>> done_;
};

}  // namespace

Rows add_send_recv(const Rows& rows, const StageMap& map, std::int64_t stages) {
  for (std::size_t rank = 0; rank < rows.size(); ++rank)
    if (rows[rank].empty())
      raise(ErrorKind::assertion_error, send_where, "expected actions of rank {}, got none", rank);
  SendRecvPass pass(map, stages, rows.size());
  std::vector<std::size_t> next(rows.size(), 0);
  auto is_over = [&](std::size_t rank) { return next[rank] == rows[rank].size(); };
  while (true) {
    bool is_done = true, has_progress = false;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      if (is_over(rank)) continue;
      is_done = false;
      const Action& action = rows[rank][next[rank]];
      if (!pass.is_ready(action, rank)) continue;
      pass.add(action, rank);
      ++next[rank];
      has_progress = true;
    }
    if (is_done) return pass.take();
    if (!has_progress)
      raise(ErrorKind::assertion_error, send_where,
            "Malformed compute schedule, can't schedule sends/recvs");
  }
}

}  // namespace simmesh::pipeline
