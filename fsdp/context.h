#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "fsdp/comm_streams.h"

namespace simmesh::fsdp {

class FSDPState;
class FSDPParamGroup;

// StateContext is what all states below one root share.
struct StateContext {
  std::vector<FSDPState*> all_states;  // in pre-order of the modules
  FSDPState* iter_forward_root = nullptr;
  bool callback_queued = false;
  bool is_last_backward = true;
  // post_optim_event is waited for once, at the begin of the next forward.
  std::function<void()> post_optim_event;
  // post_optim_stream_event is what gathers wait for then, instead of all that was launched so far.
  std::optional<StreamEvent> post_optim_stream_event;
};

// CommContext is what all groups below one root, or below several that share it, have in common:
// the streams they communicate on, and the order of their forwards, from which backward takes what
// to prefetch. An entry that was used
// up by its root's last backward is null; indices stay valid until all are.
class CommContext {
 public:
  // record appends a group and returns its index.
  std::int64_t record(FSDPParamGroup& group);
  // at returns the group at an index, null outside the order and where it was used up.
  FSDPParamGroup* at(std::int64_t index) const;
  // forget drops the entries of all groups of a root.
  void forget(const StateContext& root);

  CommStreams& streams() { return streams_; }

 private:
  std::vector<FSDPParamGroup*> post_forward_order_;
  CommStreams streams_;
};

}  // namespace simmesh::fsdp
