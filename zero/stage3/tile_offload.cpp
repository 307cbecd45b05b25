#include "zero/stage3/tile_offload.h"

namespace simmesh::zero {

TileOffload::TileOffload(const Config& config, std::vector<std::int64_t> tiles)
    : options_(config.zero_optimization.offload_optimizer.value_or(OffloadOptimizer())),
      tiles_(std::move(tiles)),
      file_bytes_min_(config.aio.file_bytes_min()),
      is_offloading_(options_.device != OffloadDevice::none),
      first_(std::size_t((1.0 - options_.ratio) * double(tiles_.size()))) {
  if (options_.device == OffloadDevice::nvme)
    store_ = std::make_unique<FileStore>(FileStore::Options{
        .folder = options_.nvme_path.value_or("."), .buffer_count = options_.buffer_count});
}

bool TileOffload::is_in_file(std::size_t tile) const {
  return store_ && is_offloaded(tile) && tiles_[tile] * 4 >= file_bytes_min_;
}

void TileOffload::begin(std::size_t tile, gsl::span<const Tensor> tensors,
                        gsl::span<const Tensor> next) {
  if (is_in_file(tile)) bring_back(tensors);
  if (!options_.pipeline_read || !is_in_file(tile + 1)) return;
  for (const Tensor& tensor : next) store_->prefetch(tensor);
}

void TileOffload::end(std::size_t tile, gsl::span<const Tensor> tensors) {
  if (!is_in_file(tile)) return;
  for (const Tensor& tensor : tensors) store_->park(tensor);
  if (!options_.pipeline_write) store_->flush();
}

void TileOffload::bring_back(gsl::span<const Tensor> tensors) {
  if (!store_) return;
  for (const Tensor& tensor : tensors) store_->prefetch(tensor);
  for (const Tensor& tensor : tensors) store_->fetch(tensor);
}

}  // namespace simmesh::zero
