#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectives/group.h"
#include "collectives/host_memory.h"
#include "collectives/process_group.h"
#include "core/clock/stream.h"

namespace simmesh {

// WorkState is the state of a started operation until it completes. Its group refers to it.
struct WorkState {
  explicit WorkState(ProcessGroup in) : group(in) {}
  WorkState(const WorkState&) = delete;
  WorkState& operator=(const WorkState&) = delete;

  ProcessGroup group;
  // For a collective: its call with operands of its own, and the member's place.
  std::vector<Tensor> inputs;
  Dims input_splits;
  Dims output_splits;
  CollectiveCall call;
  std::string contents;
  Arrival arrival;
  // For a send the message's number, for a receive the receive.
  std::uint64_t message = 0;
  std::optional<Receive> receive;
  std::shared_ptr<const MessageTimes> times;  // of a send, where devices are modelled
  // The host's memory that has the operands and results; null where they are tensors.
  std::shared_ptr<const HostMemory> host;
  // The tensor that takes the result, undefined for none; and the collective's end on the device.
  Tensor into;
  StreamEvent ended;
  std::uint64_t object = 0;  // its number for the explorer
  std::vector<Tensor> results;
  bool is_taken = false;
};

}  // namespace simmesh
