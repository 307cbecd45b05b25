#pragma once

#include <optional>
#include <vector>

#include "collectives/group.h"
#include "collectives/host_memory.h"
#include "collectives/process_group.h"
#include "core/clock/stream.h"

namespace simmesh {

// WorkState is what a started operation needs until it completes. The group it is in refers to it.
struct WorkState {
  explicit WorkState(ProcessGroup in) : group(in) {}
  WorkState(const WorkState&) = delete;
  WorkState& operator=(const WorkState&) = delete;

  ProcessGroup group;
  // Of a collective: its call with operands of its own, and the member's place.
  std::vector<Tensor> inputs;
  Dims input_splits;
  Dims output_splits;
  CollectiveCall call;
  Arrival arrival;
  // Of a send: the message's number. Of a receive: the receive.
  std::uint64_t message = 0;
  std::optional<Receive> receive;
  std::shared_ptr<const MessageTimes> times;  // of a send, where devices are modelled
  // Where the operands and results lie in memory of the host, if they do.
  std::shared_ptr<const HostMemory> host;
  // What takes the result, where there is such a tensor; and the collective's end on the device.
  Tensor into;
  StreamEvent ended;
  std::uint64_t object = 0;  // what the explorer knows it by
  std::vector<Tensor> results;
  bool is_taken = false;
};

}  // namespace simmesh
