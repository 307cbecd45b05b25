#include "core/nn/dropout.h"

#include "core/nn/batch_rows.h"
#include "core/ops/functions/default_generator.h"

namespace simmesh::nn {

Tensors Dropout::forward(const Tensors& inputs) {
  if (!is_training()) return {inputs[0]};
  return {dropout(inputs[0], default_generator().next(),
                  {.p = p_, .shard = BatchRows::shard_of(inputs[0].shape())})};
}

}  // namespace simmesh::nn
