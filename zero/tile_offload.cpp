#include "zero/tile_offload.h"

namespace simmesh::zero {

TileOffload::TileOffload(const std::optional<OffloadOptimizer>& options, std::size_t tiles)
    : options_(options.value_or(OffloadOptimizer())),
      is_offloading_(options_.device != OffloadDevice::none),
      first_(std::size_t((1.0 - options_.ratio) * double(tiles))) {
  if (options_.device == OffloadDevice::nvme)
    store_ = std::make_unique<FileStore>(FileStore::Options{
        .folder = options_.nvme_path.value_or("."), .buffer_count = options_.buffer_count});
}

void TileOffload::begin(std::size_t tile, gsl::span<const Tensor> tensors,
                        gsl::span<const Tensor> next) {
  if (!store_) return;
  if (is_offloaded(tile)) bring_back(tensors);
  if (!options_.pipeline_read || !is_offloaded(tile + 1)) return;
  for (const Tensor& tensor : next) store_->prefetch(tensor);
}

void TileOffload::end(std::size_t tile, gsl::span<const Tensor> tensors) {
  if (!store_ || !is_offloaded(tile)) return;
  for (const Tensor& tensor : tensors) store_->park(tensor);
  if (!options_.pipeline_write) store_->flush();
}

void TileOffload::bring_back(gsl::span<const Tensor> tensors) {
  if (!store_) return;
  for (const Tensor& tensor : tensors) store_->prefetch(tensor);
  for (const Tensor& tensor : tensors) store_->fetch(tensor);
}

}  // namespace simmesh::zero
