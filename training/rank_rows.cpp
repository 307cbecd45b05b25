#include "training/rank_rows.h"

namespace simmesh {

Chunk rows_of(std::int64_t rows, const ParallelForm& form) {
  return chunk_of({.size = rows, .parts = form.parts, .index = form.part});
}

Tensor part_of(const Tensor& batch, const ParallelForm& form) {
  Chunk chunk = rows_of(batch.size(0), form);
  Tensor rows = batch.narrow({0, chunk.start, chunk.length});
  return (form.part_of_rows ? form.part_of_rows(rows) : rows).clone();
}

}  // namespace simmesh
