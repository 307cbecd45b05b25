#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/arithmetic/reduce_op.h"
#include "core/nn/module.h"

namespace simmesh::fsdp {

using simmesh::to_string;

class FSDPState;
class FSDPParamGroup;
class FSDPParam;

// TrainingState is where in an iteration a state or group is.
enum class TrainingState : std::uint8_t { idle, forward, pre_backward, post_backward };
std::string_view to_string(TrainingState state);

// ShardedState says what is registered on the modules: shards, shards over the smaller mesh, or
// whole parameters.
enum class ShardedState : std::uint8_t { sharded, sharded_post_forward, unsharded };
std::string_view to_string(ShardedState state);

// EventKind is what one rank did; the meaning of each is in docs/fsdp.md.
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
  // "idle", "forward", "pre_backward", "post_backward", "state_dict".
  std::string_view training = {};
  std::string_view detail = {};  // sync, async; forward, backward; new state; clean, drops_gather
  std::int64_t index = 0;
  std::int64_t group_size = 0;
  ReduceOp op = ReduceOp::sum;
  // What a collective reads and gives. An all_gather's output comes with the wait for it.
  Tensor input = {};
  Tensor output = {};
  std::int64_t output_numel = 0;
};

// Observer sees the events of the rank that it was set on, in their order.
using Observer = std::function<void(const Event& event)>;

// ObserverScope lets an observer see what its rank does in the scope, besides those around it.
class ObserverScope {
 public:
  explicit ObserverScope(Observer observer);
  ~ObserverScope();
  ObserverScope(const ObserverScope&) = delete;
  ObserverScope& operator=(const ObserverScope&) = delete;
};

// emit tells all observers of the rank.
void emit(const Event& event);

// EventFields is an event as a list, as recorded cases and gate files hold it: its kind, then names
// and numbers.
using EventField = std::variant<std::string, std::int64_t>;
using EventFields = std::vector<EventField>;

// fields_of returns an event's fields, with names as the model has them: a group's is its modules'
// names joined by ", ", followed by "#i" where its modules have several groups.
EventFields fields_of(const Event& event, nn::Module& model);
// name_of returns that name of a group or state, and the dotted path of a parameter.
std::string name_of(const FSDPParamGroup& group, nn::Module& model);
std::string name_of(const FSDPState& state, nn::Module& model);
std::string name_of(const FSDPParam& param, nn::Module& model);

// to_string returns "(unshard, layers.0, forward, sync)".
std::string to_string(const EventFields& fields);

}  // namespace simmesh::fsdp
