#include "checkpoint/catalog/piece.h"

#include <algorithm>
#include <cstring>

#include "core/check/error.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/dtensor/local_boxes.h"

namespace simmesh::checkpoint {

namespace {

void add_piece(LocalTensor& local, Box box, Tensor part) {
  if (!box.is_empty()) local.pieces.push_back({std::move(box), std::move(part)});
}

}  // namespace

Tensor part_of(const Tensor& tensor, const Box& box) {
  Tensor part = tensor;
  for (std::size_t dim = 0; dim < box.sizes.size(); ++dim)
    part = part.narrow({std::int64_t(dim), box.offsets[dim], box.sizes[dim]});
  return part;
}

LocalTensor local_tensor(const std::string& name, const Tensor& tensor) {
  LocalTensor local = {name, tensor.shape(), tensor.dtype(), {}};
  if (!tensor.distribution()) {
    add_piece(local, whole(tensor.shape()), tensor.detach());
    return local;
  }
  DTensor distributed = DTensor::of(tensor);
  if (has_partial(distributed.placements()))
    raise(ErrorKind::value_error, "checkpoint/save",
          "'{}' has the placements {}; redistribute it to placements without Partial first", name,
          to_string(distributed.placements()));
  if (!distributed.spec().groups->is_member()) return local;
  const Tensor& mine = distributed.local();
  for (const LocalBox& box : local_boxes(distributed.spec()))
    add_piece(local, {box.global_offset, box.shape},
              part_of(mine, Box{box.local_offset, box.shape}));
  return local;
}

LocalTensor local_tensor(const std::string& name, const FlatShard& shard) {
  LocalTensor local = {name, shard.shape, shard.values.dtype(), {}};
  Tensor flat = shard.values.detach().view(Shape{shard.range.numel()});
  std::int64_t begin = 0;
  for (Box& box : boxes_of_range(shard.shape, shard.range)) {
    std::int64_t count = box.numel();
    Tensor part = flat.narrow({0, begin, count}).view(box.sizes);
    add_piece(local, std::move(box), std::move(part));
    begin += count;
  }
  return local;
}

std::vector<LocalTensor> local_tensors(const StateDict& state) {
  std::vector<LocalTensor> locals;
  for (const auto& [name, value, on_load] : state.entries()) {
    if (const auto* tensor = std::get_if<Tensor>(&value))
      locals.push_back(local_tensor(name, *tensor));
    else if (const auto* shard = std::get_if<FlatShard>(&value))
      locals.push_back(local_tensor(name, *shard));
  }
  return locals;
}

std::vector<std::byte> packed(const Tensor& part) {
  std::vector<std::byte> bytes(part.bytes());
  copy_box({.sizes = part.shape(),
            .element_bytes = bytes_per_element(part.dtype()),
            .from_strides = part.strides(),
            .to_strides = contiguous_strides(part.shape())},
           part.data(), bytes.data());
  return bytes;
}

void unpack(Bytes bytes, Tensor& part) {
  copy_box({.sizes = part.shape(),
            .element_bytes = bytes_per_element(part.dtype()),
            .from_strides = contiguous_strides(part.shape()),
            .to_strides = part.strides()},
           bytes.data(), part.mutable_data());
}

}  // namespace simmesh::checkpoint
