#include "pipeline/lowering/wait_send.h"

#include <algorithm>
#include <set>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;

constexpr const char* wait_where = "pipeline/wait_send";

Action wait_for(const ActionKey& send) { return {send.stage, wait_of(send.kind), send.microbatch}; }

// WaitSendPass is the row of one rank and the sends that are under way, in order.
struct WaitSendPass {
  Row row = {};
  std::vector<ActionKey> pending = {};

  void add(const Action& action) {
    row.push_back(action);
    if (is_send(action.kind)) begin(action);
    for (const Action& leaf : action.leaves())
      if (is_backward(leaf.kind)) end_forward_send(leaf);
  }

  void begin(const Action& send) {
    if (!send.microbatch)
      raise(ErrorKind::assertion_error, wait_where, "Send action {} has no microbatch index",
            to_string(send));
    if (std::find(pending.begin(), pending.end(), send.key()) != pending.end())
      raise(ErrorKind::assertion_error, wait_where, "Duplicate pipeline send {}", to_string(send));
    pending.push_back(send.key());
  }

  void end_forward_send(const Action& backward) {
    if (!backward.microbatch)
      raise(ErrorKind::assertion_error, wait_where, "Backward action {} has no microbatch index",
            to_string(backward));
    ActionKey send{backward.stage, send_f, backward.microbatch};
    auto found = std::find(pending.begin(), pending.end(), send);
    if (found == pending.end()) return;
    pending.erase(found);
    row.push_back(wait_for(send));
  }
};

void require_microbatch(const Action& action, const char* what, std::size_t rank) {
  if (!action.microbatch)
    raise(ErrorKind::value_error, wait_where, "{} action {} at rank {} has no microbatch index",
          what, to_string(action), rank);
}

// The sends of one rank: all of them, and those that aren't waited for yet.
struct SendsOfRank {
  std::size_t rank;
  std::set<ActionKey> seen = {}, pending = {};

  void add(const Action& action) {
    if (is_send(action.kind)) {
      require_microbatch(action, "Send", rank);
      if (!seen.insert(action.key()).second)
        raise(ErrorKind::value_error, wait_where, "Duplicate pipeline send {} at rank {}",
              to_string(action), rank);
      pending.insert(action.key());
    } else if (is_wait_send(action.kind)) {
      require_microbatch(action, "Wait", rank);
      if (pending.erase({action.stage, send_of(action.kind), action.microbatch}) == 0)
        raise(ErrorKind::value_error, wait_where, "Pipeline wait {} at rank {} has no pending send",
              to_string(action), rank);
    }
  }

  void require_none_pending() const {
    if (pending.empty()) return;
    std::vector<std::string> texts;
    for (const ActionKey& send : pending) texts.push_back(to_string(send));
    raise(ErrorKind::value_error, wait_where, "Pipeline sends at rank {} have no matching wait: {}",
          rank, join_text(texts, ", "));
  }
};

}  // namespace

Rows add_wait_send(const Rows& rows) {
  Rows result;
  for (const Row& row : rows) {
    WaitSendPass pass;
    for (const Action& action : row) pass.add(action);
    for (const ActionKey& send : pass.pending) pass.row.push_back(wait_for(send));
    result.push_back(std::move(pass.row));
  }
  return result;
}

void validate_send_waits(const Rows& rows) {
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    SendsOfRank sends{rank};
    for (const Action& action : rows[rank])
      for (const Action& leaf : action.leaves()) sends.add(leaf);
    sends.require_none_pending();
  }
}

}  // namespace simmesh::pipeline
