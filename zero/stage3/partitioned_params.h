#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "zero/fetch/coordinator.h"
#include "zero/stage3/param_gather.h"

namespace simmesh::zero {

// PartitionedParams are the parameters of a model on one rank: they do what a coordinator decides,
// by collectives. Lists of parameters are in ascending order of their numbers, so that ranks agree.
class PartitionedParams final : public FetchSink {
 public:
  PartitionedParams(std::vector<std::shared_ptr<PartitionedParam>> params,
                    const PartitionGroups& groups, const GatherOptions& options);

  // offload moves the shards to the host's memory, or with a store those of at least so many bytes
  // to its file. At most `buffers` shards of the file are in memory because they were read ahead.
  // Raises an AssertionError for a shard that is larger than a buffer.
  struct OffloadTo {
    std::shared_ptr<FileStore> store = nullptr;
    std::int64_t file_bytes_min = 0;
    std::int64_t buffers = 0;
    std::int64_t buffer_numel = 0;
  };
  void offload(const OffloadTo& to);

  std::size_t size() const { return params_.size(); }
  PartitionedParam& operator[](ParamId id) { return *params_[std::size_t(id)]; }
  const PartitionedParam& operator[](ParamId id) const { return *params_[std::size_t(id)]; }
  const PartitionGroups& groups() const { return groups_; }

  void gather(gsl::span<const ParamId> params) override;
  void wait(ParamId param) override;
  void release(ParamId param) override;
  void agree(std::string_view what, gsl::span<const std::int64_t> values) override;
  bool has_secondary(ParamId param) const override;
  bool is_absent(ParamId param) const override;
  // read_ahead starts to read shards until it has looked at twice the elements in flight, or no
  // buffer is free. A shard has its buffer from the read until its parameter is released.
  void read_ahead(gsl::span<const FetchTrace::Need> ahead) override;

  // gather_blocking gathers over all ranks, each parameter by its own collective, and waits:
  // launched back to back, or one after the other where gathers are sequential.
  void gather_blocking(gsl::span<const ParamId> params);

  // drop_secondaries drops the secondary shards of parameters that require a gradient: their values
  // have changed.
  void drop_secondaries();

 private:
  std::vector<std::shared_ptr<PartitionedParam>> params_;
  PartitionGroups groups_;
  GatherOptions options_;
  // The gathers of one handle.
  using Handle = std::vector<std::unique_ptr<PendingGather>>;
  std::vector<std::shared_ptr<Handle>> pending_;
  std::optional<std::int64_t> buffers_;  // where shards are in a file
};

}  // namespace simmesh::zero
