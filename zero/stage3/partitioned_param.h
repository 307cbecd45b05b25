#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/process_group.h"
#include "core/nn/module.h"
#include "zero/stage3/file_store.h"

namespace simmesh::zero {

// PartitionGroups are the groups over which a parameter is partitioned: all ranks, and in hpZ also
// a small group of consecutive ranks that keeps secondary shards.
struct PartitionGroups {
  ProcessGroup all;
  std::optional<ProcessGroup> secondary = {};

  // of returns the groups of a rank: with a size above 1 the small groups are of so many
  // consecutive members, and the last one has the rest.
  static PartitionGroups of(const ProcessGroup& all, std::int64_t secondary_size);
};

// PartitionedParam is a parameter of which each rank owns a shard: rank r has the elements [r *
// shard_numel, (r + 1) * shard_numel) of the flattened tensor, with zeros beyond its end. The
// modules keep one leaf for it, which has elements while it is gathered. A secondary shard is one
// of the same kind for the smaller group.
class PartitionedParam {
 public:
  // Place is where a module registers it.
  struct Place {
    nn::Module* module;
    std::string name;
  };

  // Takes the group's first member's tensor and cuts it. Raises a RuntimeError for one of the meta
  // device, which has no values, unless the world has shapes only.
  PartitionedParam(std::string name, const Tensor& whole, const PartitionGroups& groups);

  // register_at registers the leaf, which has no elements, at all places.
  void register_at(std::vector<Place> places);

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  const Shape& shape() const { return leaf_.shape(); }
  DType dtype() const { return leaf_.dtype(); }
  // lower_dtype is the dtype of torch_autocast in which its gradients are reduced, and what forward
  // and backward need of it is gathered; nullopt where that is its own.
  const std::optional<DType>& lower_dtype() const { return lower_dtype_; }
  void set_lower_dtype(std::optional<DType> dtype) { lower_dtype_ = dtype; }
  std::int64_t numel() const { return leaf_.numel(); }
  std::int64_t shard_numel() const { return shard_numel_; }
  // own_numel is the number of elements of the shard that are the parameter's, and not padding.
  std::int64_t own_numel() const { return own_numel_; }
  bool requires_grad() const { return leaf_.requires_grad(); }
  const Tensor& leaf() const { return leaf_; }
  Tensor& leaf() { return leaf_; }

  // offload moves the shard to the host's memory, or to a file: then it has elements only from
  // fetch_shard to park_shard, which writes it again, or discard_shard, after which the file still
  // has it. prefetch_shard starts to read it, and a shard is absent before that. These do nothing
  // for a shard that isn't in a file.
  void offload(std::shared_ptr<FileStore> store);
  bool is_in_file() const { return store_ != nullptr; }
  bool is_shard_absent() const { return store_ && store_->is_absent(shard_); }
  void prefetch_shard() const;
  void fetch_shard() const;
  void park_shard() const;
  void discard_shard() const;

  // shard is this rank's shard, flat; own_part is the same without the padding.
  Tensor& shard() { return shard_; }
  const Tensor& shard() const { return shard_; }
  Tensor own_part() const { return shard_.narrow({0, 0, own_numel_}); }

  const Tensor& secondary() const { return secondary_; }
  void drop_secondary() { secondary_ = Tensor(); }

  // take gives the leaf the elements of a flat buffer from `offset` on, and holds the buffer until
  // drop. drop frees the leaf and discards the shard; first it cuts a secondary shard where there
  // is none and there are groups for it.
  void take(const Tensor& buffer, std::int64_t offset);
  void drop();
  bool is_whole() const { return held_.is_defined(); }
  // held_bytes are those of the buffer; several parameters may hold one.
  const Tensor& held() const { return held_; }

  // update_shard copies this rank's part from the leaf, whose elements somebody has changed.
  void update_shard();

 private:
  void cut_secondary();
  void cut(Tensor& shard, std::int64_t rank) const;
  void take_first(const Tensor& whole, const ProcessGroup& group);

  std::string name_;
  std::vector<Place> places_;
  std::optional<DType> lower_dtype_;
  std::int64_t ranks_, shard_numel_, own_numel_;
  std::int64_t rank_;
  std::int64_t secondary_ranks_ = 0, secondary_rank_ = 0;
  Tensor leaf_, shard_, secondary_, held_;
  std::shared_ptr<FileStore> store_;  // of the shard; null where it isn't in a file
};

// names_of returns the names of parameters, joined by ", ": the contents of their collectives.
std::string names_of(const std::vector<PartitionedParam*>& params);

}  // namespace simmesh::zero
