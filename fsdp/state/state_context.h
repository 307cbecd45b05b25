#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/clock/stream.h"

namespace simmesh::fsdp {

class FSDPState;

// StateContext is shared by all states below one root.
struct StateContext {
  std::vector<FSDPState*> all_states;  // in pre-order of the modules
  FSDPState* iter_forward_root = nullptr;
  bool callback_queued = false;
  bool is_last_backward = true;
  // finalizes_manually leaves the end of backward to the user; runs_manually is its value when the
  // first backward of this iteration began. An asynchronous end must be waited for.
  bool finalizes_manually = false;
  std::optional<bool> runs_manually;
  bool reduction_pending = false;
  // post_optim_event is waited for once, at the begin of the next forward.
  std::function<void()> post_optim_event;
  // post_optim_stream_event is the event for which gathers then wait, instead of everything
  // launched so far.
  std::optional<StreamEvent> post_optim_stream_event;
};

}  // namespace simmesh::fsdp
