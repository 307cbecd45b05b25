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

// isend hands the message over and returns; wait() returns when it was received.
Work isend(const Tensor& tensor, const SendTo& to, const ProcessGroup& group,
           CallSite site = CallSite::here());

// Received is what recv gives: the tensor shares the sender's bytes.
struct Received {
  Tensor tensor;
  std::int64_t peer = 0;  // who sent it
};

// recv blocks until a message of the given shape and dtype has come. Raises a RuntimeError that
// names both sides where the message that comes has another shape or dtype, an IndexError for a
// peer that is no member.
Received recv(DimSpan shape, DType dtype, const ReceiveFrom& from, const ProcessGroup& group,
              CallSite site = CallSite::here());

// irecv posts the receive and returns; wait() returns the tensor.
Work irecv(DimSpan shape, DType dtype, const ReceiveFrom& from, const ProcessGroup& group,
           CallSite site = CallSite::here());

}  // namespace simmesh
