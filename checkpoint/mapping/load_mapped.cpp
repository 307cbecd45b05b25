#include "checkpoint/mapping/load_mapped.h"

#include "checkpoint/catalog/piece.h"
#include "core/tensor/convert.h"

namespace simmesh::checkpoint {

Tensor load_mapped(const MappedTensor& tensor, const Box& box, const ReadBox& read_box) {
  Tensor result = empty(box.sizes, tensor.dtype());
  for (MappedPiece piece : tensor.pieces) {
    if (!within(piece, box)) continue;
    Tensor values = read_box(piece.stored, piece.source);
    values = values.permute(Dims(piece.permutation.begin(), piece.permutation.end()));
    for (DType dtype : tensor.dtypes) values = converted(values, dtype);
    Tensor place = part_of(result, relative_to(piece.target, box));
    copy_(place, values);
  }
  return result;
}

}  // namespace simmesh::checkpoint
