#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/ranks/observer_scope.h"
#include "core/tensor/tensor.h"

namespace simmesh::pipeline {

using simmesh::to_string;

// EventKind is an action of one rank of a pipeline.
enum class EventKind : std::uint8_t {
  preconnect,       // the first call of a pipeline on several ranks
  infer_forward,    // a run that finds out shapes, with the first micro-batch
  infer_backward,   // the same for gradients
  send_meta,        // shapes to another stage: stage, peer_stage
  recv_meta,        // shapes from another stage: stage, peer_stage
  action,           // the next action of a row: text
  forward,          // stage, number: the micro-batch
  loss,             // number: of losses before
  backward,         // stage, number, is_last
  backward_input,   // stage, number
  backward_weight,  // stage, number, is_last
  post,             // messages that are posted together
  wait,             // number: of the post in this call, from 0
  release,          // a stage drops its outputs of a micro-batch that were sent: stage, number
  local_input,      // stage, number: the input comes from a stage on the same rank
  local_grad,       // the same for the gradient of the output
  divide,           // stage, number: gradients are divided by it
  start_reduction,  // stage: of its gradients over shards
  wait_reduction,   // stage
};

// to_string returns the name, as recorded cases have it.
std::string_view to_string(EventKind kind);

// PostedTensor is a tensor that is sent to a rank, or expected from it.
struct PostedTensor {
  bool is_send;
  std::int64_t peer;  // the global rank
  Shape shape;
  Tensor sent = {};
};

// Event is one entry of a rank's record. Fields that a kind doesn't have keep their defaults.
struct Event {
  EventKind kind;
  std::int64_t stage = -1;
  std::int64_t number = -1;
  std::int64_t peer_stage = -1;
  bool is_last = false;  // the last backward of a stage in a call
  std::string text = {};
  std::vector<PostedTensor> messages = {};
};

// An ObserverScope lets an observer see the events of its rank; emit tells all observers.
using ObserverScope = simmesh::ObserverScope<Event>;
inline void emit(const Event& event) { ObserverScope::emit(event); }

}  // namespace simmesh::pipeline
