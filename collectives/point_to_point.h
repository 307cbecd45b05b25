#pragma once

#include "collectives/message_peer.h"
#include "collectives/process_group.h"
#include "collectives/work.h"

namespace simmesh {

// send blocks until the peer has received the tensor: two ranks that both send first never return,
// and are reported. The message holds the bytes as they are now. Raises an IndexError for a peer
// that is no member.
void send(const Tensor& tensor, const SendTo& to, const ProcessGroup& group,
          CallSite site = CallSite::here());

// isend starts sending the message and returns; wait() returns when it was received.
Work isend(const Tensor& tensor, const SendTo& to, const ProcessGroup& group,
           CallSite site = CallSite::here());

// Received is the result of recv: the tensor shares the sender's bytes.
struct Received {
  Tensor tensor;
  std::int64_t peer = 0;  // the sender
};

// recv blocks until a message has come. Raises a RuntimeError that names both sides if that message
// has another shape or dtype than the given ones, unless any type is taken, and an IndexError for a
// peer that is no member.
Received recv(DimSpan shape, DType dtype, const ReceiveFrom& from, const ProcessGroup& group,
              CallSite site = CallSite::here());

// irecv posts the receive and returns; wait() returns the tensor.
Work irecv(DimSpan shape, DType dtype, const ReceiveFrom& from, const ProcessGroup& group,
           CallSite site = CallSite::here());

}  // namespace simmesh
