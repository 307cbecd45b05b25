#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/arithmetic/reductions/reduce_op.h"
#include "core/engine/ranks/observer_scope.h"
#include "core/tensor/tensor.h"

namespace simmesh::fsdp {

using simmesh::to_string;

class FSDPState;
class FSDPParamGroup;
class FSDPParam;

// TrainingState is the phase of an iteration in which a state or group is.
enum class TrainingState : std::uint8_t { idle, forward, pre_backward, post_backward };
std::string_view to_string(TrainingState state);

// ShardedState is what is registered on the modules: shards, shards over the smaller mesh, or whole
// parameters.
enum class ShardedState : std::uint8_t { sharded, sharded_post_forward, unsharded };
std::string_view to_string(ShardedState state);

// Pass is the half of an iteration for which a gather is prefetched.
enum class Pass : std::uint8_t { forward, backward };
std::string_view to_string(Pass pass);

// EventKind is an action of one rank; docs/fsdp.md has the meaning of each.
enum class EventKind : std::uint8_t {
  lazy_init,
  group_lazy_init,
  reset_sharded_param,
  forward_root,
  unshard,
  all_gather,
  wait,
  prefetch,
  reshard,
  record_post_forward,
  pre_backward,
  post_backward,
  reduce_scatter,
  all_reduce,
  root_callback,
  finalize,
};
std::string_view to_string(EventKind kind);

// Event is one entry of a rank's record. Fields that a kind doesn't have keep their defaults.
struct Event {
  EventKind kind;
  const FSDPState* state = nullptr;  // lazy_init, forward_root, root_callback; of prefetch: by whom
  const FSDPParamGroup* group = nullptr;
  const FSDPParam* param = nullptr;
  std::optional<TrainingState> training = {};    // unshard, wait, reshard
  bool by_state_dict = false;                    // reshard: a state dict did it, at whatever time
  bool is_async = false;                         // unshard
  bool drops_gather = false;                     // finalize: nobody waited for a gather
  Pass pass = Pass::forward;                     // prefetch
  ShardedState becomes = ShardedState::sharded;  // reshard
  std::int64_t index = 0;                        // record_post_forward
  std::int64_t group_size = 0;
  ReduceOp op = ReduceOp::sum;
  // The input and output of a collective. The output of an all_gather comes with the wait for it.
  Tensor input = {};
  Tensor output = {};
  std::int64_t output_numel = 0;
};

// An ObserverScope lets an observer see the events of its rank; emit tells all observers.
using ObserverScope = simmesh::ObserverScope<Event>;
inline void emit(const Event& event) { ObserverScope::emit(event); }

}  // namespace simmesh::fsdp
