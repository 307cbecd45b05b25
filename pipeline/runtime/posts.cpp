#include "pipeline/runtime/posts.h"

#include "core/check/check.h"
#include "core/check/error.h"
#include "pipeline/lowering/messages.h"
#include "pipeline/stage/event.h"

namespace simmesh::pipeline {

using enum ActionKind;

// The place where a message arrives makes its tag.
std::int64_t Posts::tag_of(const ActionKey& arrival, std::size_t index) {
  constexpr std::int64_t tensors_max = 1 << 10, microbatches_max = 1 << 24;
  SIMMESH_CHECK(std::int64_t(index) < tensors_max, "a stage has {} tensors", index);
  std::int64_t place = arrival.stage * 2 + (arrival.kind == recv_b ? 1 : 0);
  return (place * microbatches_max + *arrival.microbatch) * tensors_max + std::int64_t(index);
}

std::vector<std::pair<std::size_t, Posts::Message>> Posts::messages_of(const Action& action) {
  PipelineStage& stage = stages_.at(action.stage);
  std::int64_t microbatch = *action.microbatch;
  std::vector<std::pair<std::size_t, Message>> messages;
  bool is_backward = action.kind == send_b || action.kind == recv_b;
  if (is_backward && !stage.has_backward()) return messages;
  std::int64_t peer = message_peer(action.key(), stages_.map());
  ActionKey arrival = is_send(action.kind) ? receive_of(action.key()) : action.key();
  auto add = [&](std::size_t index, TensorMeta meta, Tensor sent) {
    messages.emplace_back(index,
                          Message{peer, tag_of(arrival, index), std::move(meta), std::move(sent)});
  };
  if (is_send(action.kind)) {
    nn::Tensors sent = action.kind == send_f ? stage.outputs_to_send(microbatch)
                                             : stage.take_input_grads(microbatch);
    for (std::size_t i = 0; i < sent.size(); ++i)
      if (sent[i].is_defined()) add(i, meta_of(sent[i]), sent[i]);
  } else if (action.kind == recv_f) {
    const TensorMetas& metas = *stage.metas().inputs;
    for (std::size_t i = 0; i < metas.size(); ++i) add(i, metas[i], {});
  } else {
    const GradMetas& metas = *stage.metas().output_grads;
    for (std::size_t i = 0; i < metas.size(); ++i)
      if (metas[i]) add(i, *metas[i], {});
  }
  return messages;
}

void Posts::post(const std::vector<Action>& actions) {
  auto batch = std::make_shared<Batch>();
  const ProcessGroup& group = stages_.group();
  Event event{.kind = EventKind::post};
  std::vector<std::vector<std::pair<std::size_t, Message>>> messages;
  for (const Action& action : actions) {
    messages.push_back(messages_of(action));
    for (const auto& [index, message] : messages.back())
      event.messages.push_back({is_send(action.kind), group.members()[std::size_t(message.peer)],
                                message.meta.shape, message.sent});
  }
  if (!event.messages.empty()) {
    batch->number = next_number_++;
    emit(event);
  }
  for (std::size_t i = 0; i < actions.size(); ++i) {
    Part part{actions[i], {}, {}, {}};
    for (const auto& [index, message] : messages[i]) {
      part.indices.push_back(index);
      if (is_send(actions[i].kind)) part.sent.push_back(message.sent);
      part.works.push_back(
          is_send(actions[i].kind)
              ? isend(message.sent, {.peer = message.peer, .tag = message.tag}, group)
              : irecv(message.meta.shape, message.meta.dtype,
                      {.peer = message.peer, .tag = message.tag, .any_type = true}, group));
    }
    batch->parts.push_back(std::move(part));
    batches_[actions[i].key()] = batch;
  }
}

void Posts::wait(const Action& action) {
  auto found = batches_.find(action.key());
  if (found == batches_.end()) return;
  std::shared_ptr<Batch> batch = found->second;
  if (batch->number >= 0) emit({.kind = EventKind::wait, .number = batch->number});
  for (Part& part : batch->parts) {
    batches_.erase(part.action.key());
    if (is_recv(part.action.kind)) {
      deliver(part);
    } else if (mode_ == SendMode::rendezvous) {
      for (Work& work : part.works) work.wait();
    }
  }
}

void Posts::deliver(Part& part) {
  PipelineStage& stage = stages_.at(part.action.stage);
  bool is_input = part.action.kind == recv_f;
  if (!is_input && !stage.has_backward()) return;
  std::size_t count = is_input ? stage.metas().inputs->size() : stage.metas().output_grads->size();
  nn::Tensors received(count);
  for (std::size_t i = 0; i < part.works.size(); ++i) {
    std::size_t index = part.indices[i];
    const TensorMeta& meta =
        is_input ? (*stage.metas().inputs)[index] : *(*stage.metas().output_grads)[index];
    Tensor tensor = part.works[i].wait();
    if (tensor.dtype() != meta.dtype)
      raise(ErrorKind::runtime_error, "pipeline/posts",
            "stage {}: expected a message of dtype {} for {}, got {}{}", stage.stage_index(),
            to_string(meta.dtype), to_string(part.action), to_string(tensor.dtype()),
            to_string(DimSpan(tensor.shape())));
    received[index] = std::move(tensor);
  }
  if (is_input)
    stage.set_inputs(*part.action.microbatch, std::move(received));
  else
    stage.set_output_grads(*part.action.microbatch, std::move(received));
}

std::vector<ActionKey> Posts::pending() const {
  std::vector<ActionKey> keys;
  for (const auto& [key, batch] : batches_) keys.push_back(key);
  return keys;
}

}  // namespace simmesh::pipeline
