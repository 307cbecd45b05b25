#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/catalog/flat_range.h"
#include "checkpoint/catalog/state_dict.h"
#include "collectives/process_group.h"
#include "core/tensor/tensor.h"

namespace simmesh::checkpoint {

// ShardingVersion is a version of Paddle's sharding. v1 gives each rank whole tensors. v2 gives
// each rank an equal run of every buffer, and cuts tensors anywhere. v3 gives each rank rows of
// tensors with two or more dims, and shards all others as v2 does.
enum class ShardingVersion : std::uint8_t { v1, v2, v3 };

// FusedTensor is the name and the shape of a tensor in fused buffers, such as a parameter.
struct FusedTensor {
  std::string name;
  Shape shape;
};

// FusedLayout is the layout of tensors in buffers.
struct FusedLayout {
  ShardingVersion version = ShardingVersion::v2;
  // A buffer that has this many bytes, without padding, takes no more tensors.
  std::int64_t buffer_bytes = std::int64_t{256} << 20;
  DType dtype = DType::float32;
};

// FusedPiece is a rank's part of a tensor: a range of its elements, from `begin` on in a buffer.
// The range is empty if the rank has no part.
struct FusedPiece {
  std::size_t buffer = 0;
  std::int64_t begin = 0;
  FlatRange range;
};

// FusedBuffers are a rank's part of flat buffers with tensors (see sharding_buffers.h), padding
// included. A state dict has the tensors by their names and without padding. So any version loads
// them on any number of ranks with buffers of any size:
//
//   checkpoint::FusedBuffers parameters({{"weight", {5, 3}}, {"bias", {5}}},
//                                       {.version = checkpoint::ShardingVersion::v2});
//   checkpoint::StateDict state;
//   parameters.add_to(state, "model.");   // model.weight, model.bias
class FusedBuffers {
 public:
  // Makes buffers of zeros. All ranks of the group give the same tensors and layout. It does not
  // communicate. Raises a ValueError for a layout whose buffers have no bytes.
  FusedBuffers(std::vector<FusedTensor> tensors, const FusedLayout& layout,
               const ProcessGroup& group = ProcessGroup::world());

  const std::vector<FusedTensor>& tensors() const { return tensors_; }
  // buffers returns this rank's part of each buffer. It has one dim.
  const std::vector<Tensor>& buffers() const { return buffers_; }
  // pieces returns this rank's part of each tensor, and values returns a view of its elements.
  const std::vector<FusedPiece>& pieces() const { return pieces_; }
  Tensor values(std::size_t tensor) const;

  // add_to adds each tensor under a prefix. A load fills the buffers, but not their padding.
  void add_to(StateDict& state, const std::string& prefix) const;

 private:
  void add_whole_tensors();
  void add_runs(const std::vector<std::size_t>& tensors);
  void add_rows(const std::vector<std::size_t>& tensors);
  void add_buffer(std::int64_t numel);

  std::vector<FusedTensor> tensors_;
  FusedLayout layout_;
  std::int64_t rank_, ranks_;
  std::vector<Tensor> buffers_;
  std::vector<FusedPiece> pieces_;
};

// FusedAdamStates are Adam's float32 states and master weights for a rank's part of fused buffers,
// in one buffer (see FusedStates). Each piece that isn't empty has exp_avg, exp_avg_sq, the powers
// of beta, and the master.
class FusedAdamStates {
 public:
  // The buffers must outlive this object.
  explicit FusedAdamStates(const FusedBuffers& tensors);

  const Tensor& buffer() const { return buffer_; }

  // add_to adds "optim.NAME.exp_avg" and "optim.NAME.exp_avg_sq", "optim.NAME.beta1_pow_acc" and
  // "optim.NAME.beta2_pow_acc" of one element, and "master.NAME", as state_dict of a model and of a
  // ZeRO engine names them.
  void add_to(StateDict& state) const;

 private:
  const FusedBuffers& tensors_;
  std::vector<std::size_t> held_;  // tensors with a piece on this rank
  Tensor buffer_;
};

}  // namespace simmesh::checkpoint
