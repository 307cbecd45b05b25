#pragma once

#include <gsl/span>
#include <memory>
#include <vector>

#include "zero/config/config.h"
#include "zero/stage3/file_store.h"

namespace simmesh::zero {

// TileOffload is where the masters and the optimiser's state of stage 3 are between steps, tile by
// tile: the first int((1 - ratio) * tiles) stay on the device; the others are in the host's memory,
// which isn't charged to the rank, or in a file, if a float32 tensor of the tile's size is large
// enough for one.
class TileOffload {
 public:
  // Tiles are given by their numbers of elements.
  TileOffload(const Config& config, std::vector<std::int64_t> tiles);

  bool is_offloaded(std::size_t tile) const {
    return is_offloading_ && tile >= first_ && tile < tiles_.size();
  }
  bool is_in_file(std::size_t tile) const;

  // begin brings the tensors of a tile back from the file; with pipeline_read those of the next
  // tile are read meanwhile. end moves them there again; without pipeline_write it waits.
  void begin(std::size_t tile, gsl::span<const Tensor> tensors, gsl::span<const Tensor> next);
  void end(std::size_t tile, gsl::span<const Tensor> tensors);
  // bring_back makes tensors readable that a step will move away again.
  void bring_back(gsl::span<const Tensor> tensors);

 private:
  OffloadOptimizer options_;
  std::vector<std::int64_t> tiles_;
  std::int64_t file_bytes_min_;
  bool is_offloading_ = false;
  std::size_t first_ = 0;
  std::unique_ptr<FileStore> store_;
};

}  // namespace simmesh::zero
