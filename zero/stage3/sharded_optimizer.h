#pragma once

#include <memory>
#include <vector>

#include "zero/engine/stage.h"
#include "zero/stage3/gradient_shards.h"
#include "zero/stage3/tile_offload.h"

namespace simmesh::zero {

// ShardedOptimizer is the optimiser of stage 3: each rank updates its shards of the parameters. The
// masters are flat and without padding: copies of the shards in the dtype of masters, or the shards
// themselves where they have it. A tile is a list of parameters of one group of the optimiser,
// whose masters are one flat buffer. It is updated as one, so that only one tile at a time has its
// gradients in float32.
class ShardedOptimizer {
 public:
  ShardedOptimizer(PartitionedParams& params, const StageSetup& setup);

  const std::vector<nn::NamedTensor>& masters() const { return masters_; }
  optim::Optimizer& optimizer() const { return *optimizer_; }
  const std::vector<std::vector<ParamId>>& tiles() const { return tiles_; }

  // step makes a step with the shards of the gradients, divided by the loss scale and clipped. With
  // float16 parameters all ranks first agree on whether there is an overflow: one all-reduce of a
  // byte. The norm takes one all-reduce of a float64 a tile. A step whose gradients aren't finite
  // is skipped.
  StepResult step(const GradientShards& gradients, double loss_scale);

  // squares returns what Stage::squares does.
  Tensor squares(const GradientShards& gradients, double loss_scale) const;

  // refresh copies a master from the shard, which somebody has changed.
  void refresh(ParamId param);

  // masters_changed copies the masters to the shards, after somebody has changed the masters.
  void masters_changed();

  // bring_back makes masters and state readable where they are in a file between steps.
  void bring_back();

  std::int64_t master_bytes() const;  // of copies only
  std::int64_t state_bytes() const;

 private:
  void make_tiles(const StageSetup& setup);
  void make_masters();
  std::vector<Tensor> kept_of(std::size_t tile) const;
  Tensor gradient_of(ParamId param, const GradientShards& gradients, double loss_scale) const;
  bool has_overflow(const GradientShards& gradients) const;
  void step_whole_ones(const std::vector<ParamId>& tile);
  void step_tile(std::size_t index, const GradientShards& gradients, double loss_scale,
                 const Tensor& factor);

  PartitionedParams& params_;
  ModelParallel parallel_;
  bool scales_loss_;
  DType master_dtype_;
  bool checks_overflow_;
  double clip_;
  std::vector<nn::NamedTensor> masters_;
  std::vector<std::vector<ParamId>> tiles_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<TileOffload> offload_;
};

}  // namespace simmesh::zero
