#include "pipeline/runtime/meta_messages.h"

#include "collectives/point_to_point.h"

namespace simmesh::pipeline {

namespace {

constexpr std::int64_t meta_tag = -1;  // no tag of an activation or gradient

// The sizes of a message, in this order; those of the tensor follow.
enum Field : std::size_t { nothing, direction, count, is_there, requires_grad, fields };

Tensor without_elements(const StageMessage& message, const std::optional<TensorMeta>& meta) {
  Shape sizes(fields, 0);
  sizes[direction] = std::int64_t(message.direction);
  sizes[count] = std::int64_t(message.metas.size());
  sizes[is_there] = meta ? 1 : 0;
  sizes[requires_grad] = meta && meta->requires_grad ? 1 : 0;
  if (meta) sizes.insert(sizes.end(), meta->shape.begin(), meta->shape.end());
  return empty(sizes, meta ? meta->dtype : DType::float32);
}

Tensor recv_one(std::int64_t peer, const ProcessGroup& group) {
  Shape any(fields, 0);
  ReceiveFrom from{.peer = peer, .tag = meta_tag, .any_type = true};
  return irecv(any, DType::float32, from, group).wait();
}

}  // namespace

void send_metas(const StageMessage& message, std::int64_t peer, const ProcessGroup& group) {
  SendTo to{.peer = peer, .tag = meta_tag};
  if (message.metas.empty()) send(without_elements(message, std::nullopt), to, group);
  for (const std::optional<TensorMeta>& meta : message.metas)
    send(without_elements(message, meta), to, group);
}

StageMessage recv_metas(std::int64_t peer, const ProcessGroup& group) {
  StageMessage message{};
  std::int64_t left = 1;
  while (left > 0) {
    Tensor one = recv_one(peer, group);
    const Shape& sizes = one.shape();
    message.direction = MetaDirection(sizes[direction]);
    if (message.metas.empty()) left = sizes[count];
    if (sizes[count] == 0) break;
    std::optional<TensorMeta> meta;
    if (sizes[is_there] != 0)
      meta = TensorMeta{Shape(sizes.begin() + std::ptrdiff_t(fields), sizes.end()), one.dtype(),
                        sizes[requires_grad] != 0};
    message.metas.push_back(std::move(meta));
    --left;
  }
  return message;
}

}  // namespace simmesh::pipeline
