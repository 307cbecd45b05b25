#include "pipeline/lowering/messages.h"

#include <map>

#include "core/check/check.h"

namespace simmesh::pipeline {

using enum ActionKind;

ActionKey receive_of(const ActionKey& send) {
  SIMMESH_CHECK(is_send(send.kind), "{} is no send", to_string(send));
  if (send.kind == send_f) return {send.stage + 1, recv_f, send.microbatch};
  return {send.stage - 1, recv_b, send.microbatch};
}

std::int64_t message_peer(const ActionKey& message, const StageMap& map) {
  bool is_next = message.kind == send_f || message.kind == recv_b;
  return map.rank_of(message.stage + (is_next ? 1 : -1));
}

std::optional<ActionKey> send_after(const Action& action, const StageMap& map,
                                    std::int64_t stages) {
  bool goes_on = action.kind == forward && action.stage != stages - 1;
  bool goes_back = is_backward(action.kind) && action.stage != 0;
  if (!goes_on && !goes_back) return std::nullopt;
  ActionKey send{action.stage, goes_on ? send_f : send_b, action.microbatch};
  if (message_peer(send, map) == map.rank_of(action.stage)) return std::nullopt;
  return send;
}

bool keeps_message_order(const Rows& rows, const StageMap& map) {
  std::map<Edge, std::vector<ActionKey>> sent, received;  // as receives, by sender and receiver
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto rank = std::int64_t(i);
    for (const Action& action : rows[i]) {
      ActionKey key = action.key();
      if (is_send(action.kind)) sent[{rank, message_peer(key, map)}].push_back(receive_of(key));
      if (is_recv(action.kind)) received[{message_peer(key, map), rank}].push_back(key);
    }
  }
  return sent == received;
}

}  // namespace simmesh::pipeline
