#include "fsdp/param/gradient_rows.h"

#include "core/tensor/chunk.h"

namespace simmesh::fsdp {

void put_gradient_rows(Tensor& flat, const Tensor& whole, const FSDPParam& param,
                       const RowPlace& place) {
  std::int64_t dim = param.shard_dim(), numel = param.padded_numel();
  for (std::int64_t rank = 0; rank < place.ranks; ++rank) {
    Chunk chunk = chunk_of({.size = whole.size(dim), .parts = place.ranks, .index = rank});
    if (chunk.length == 0) continue;
    Tensor padded =
        flat.narrow({0, rank * place.row + place.offset, numel}).view(param.padded_shape());
    Tensor target = padded.narrow({dim, 0, chunk.length});
    copy_(target, whole.narrow({dim, chunk.start, chunk.length}));
  }
}

}  // namespace simmesh::fsdp
