#include "gate/fit.h"

#include "core/tensor/chunk.h"

namespace simmesh {

bool gives_rows(const CutRows& cut) {
  auto last_rows = [](std::int64_t size, std::int64_t among) {
    return chunk_of({.size = size, .parts = among, .index = among - 1}).length;
  };
  std::int64_t smallest = last_rows(cut.batch, cut.micro_batches);
  return smallest > 0 && last_rows(smallest, cut.parts) > 0;
}

bool divides_positions(std::int64_t positions, const GateParallel& parallel,
                       const GateLayout& layout) {
  if (!parallel.tensor || !parallel.tensor->form.sequence_parallel) return true;
  std::int64_t ranks = layout.shape[layout.index_of(parallel.tensor->mesh)];
  if (!parallel.context) return positions % ranks == 0;
  SequenceSplit split{positions, layout.shape[layout.index_of(parallel.context->mesh)],
                      parallel.context->style.order};
  for (std::int64_t rank = 0; rank < split.ranks; ++rank)
    if (split.length_of(rank) % ranks != 0) return false;
  return true;
}

}  // namespace simmesh
