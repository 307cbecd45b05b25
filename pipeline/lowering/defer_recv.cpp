#include "pipeline/lowering/defer_recv.h"

#include <algorithm>

#include "core/check/error.h"
#include "pipeline/lowering/messages.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;

// DeferRecvPass is the row of one rank and the receives that are held back, in order.
struct DeferRecvPass {
  const StageMap& map;
  std::int64_t rank;
  Row row = {};
  Row held = {};

  void hold(const Action& receive) {
    auto known = std::find(held.begin(), held.end(), receive);
    if (known == held.end()) held.push_back(receive);
  }

  // Posts the receives from a rank.
  void post_from(std::int64_t peer) {
    auto is_other = [&](const Action& receive) { return message_peer(receive.key(), map) != peer; };
    auto first = std::stable_partition(held.begin(), held.end(), is_other);
    row.insert(row.end(), first, held.end());
    held.erase(first, held.end());
  }

  void post_input_of(const Action& action) {
    if (action.kind != forward && !is_backward(action.kind)) return;
    ActionKey input{action.stage, action.kind == forward ? recv_f : recv_b, action.microbatch};
    auto found = std::find_if(held.begin(), held.end(),
                              [&](const Action& receive) { return receive.key() == input; });
    if (found == held.end()) return;
    row.push_back(*found);
    held.erase(found);
  }

  void add(const Action& action) {
    if (is_recv(action.kind)) return hold(action);
    if (is_send(action.kind)) {
      std::int64_t peer = message_peer(action.key(), map);
      if (rank < peer) post_from(peer);
    }
    for (const Action& leaf : action.leaves()) post_input_of(leaf);
    row.push_back(action);
  }
};

}  // namespace

Rows defer_recv(const Rows& rows, const StageMap& map) {
  Rows result;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    DeferRecvPass pass{map, std::int64_t(rank)};
    for (const Action& action : rows[rank]) pass.add(action);
    if (!pass.held.empty())
      raise(ErrorKind::assertion_error, "pipeline/defer_recv",
            "Malformed input schedule on rank {}: leftover RECV ops with no consumer found: {}",
            rank, to_string(pass.held));
    result.push_back(std::move(pass.row));
  }
  return result;
}

}  // namespace simmesh::pipeline
