#pragma once

#include <cstdint>
#include <memory>

#include "collectives/host_memory.h"
#include "collectives/mailbox.h"
#include "collectives/message_peer.h"
#include "collectives/process_group.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// Carried is the content of a message: a tensor, or memory of the host, of which the tensor then
// has only the type.
struct Carried {
  const Tensor& tensor;
  std::shared_ptr<const HostMemory> host = nullptr;
};

// PostedMessage is a message as its sender knows it after sending it.
struct PostedMessage {
  std::uint64_t number;
  std::shared_ptr<MessageTimes> times;
};

// post_message begins a send: the schedule chooses, and the message is in the group's mailbox.
// Raises an IndexError for a peer that is no member.
PostedMessage post_message(const Carried& carried, const SendTo& to, const ProcessGroup& group,
                           const CallSite& site);

// make_receive begins a receive, which is to be posted where it stays. Raises the errors of
// post_message.
Receive make_receive(DimSpan shape, DType dtype, const ReceiveFrom& from, const ProcessGroup& group,
                     const CallSite& site);

}  // namespace simmesh
