#pragma once

#include "pipeline/schedule/row.h"
#include "pipeline/schedule/stage_map.h"

namespace simmesh::pipeline {

// receive_of returns the receive that takes the message of a send: SEND_F of stage s arrives at
// stage s + 1, SEND_B at stage s - 1.
ActionKey receive_of(const ActionKey& send);

// message_peer returns the rank at the other end of a send or a receive. Raises a KeyError for a
// stage that has no rank.
std::int64_t message_peer(const ActionKey& message, const StageMap& map);

// send_after returns the send that follows an action of a stage: SEND_F after F, SEND_B after B or
// I; nullopt at the end of the pipeline and where the neighbour is on the same rank.
std::optional<ActionKey> send_after(const Action& action, const StageMap& map, std::int64_t stages);

// keeps_message_order is true if every rank posts its receives from another rank in the order in
// which that rank sends. Messages have no tags, so they are mixed up otherwise.
bool keeps_message_order(const Rows& rows, const StageMap& map);

}  // namespace simmesh::pipeline
