#include "core/nn/batch_rows.h"

#include <utility>

#include "core/check/error.h"
#include "core/engine/ranks/local_state.h"

namespace simmesh::nn {

namespace {

struct ActiveRows {
  const BatchRows* rows = nullptr;
};

}  // namespace

BatchRows::BatchRows(const Chunk& rows, std::int64_t total)
    : rows_(rows), total_(total), outer_(std::exchange(local_state<ActiveRows>().rows, this)) {}

BatchRows::~BatchRows() { local_state<ActiveRows>().rows = outer_; }

ShardOfTensor BatchRows::shard_of(const Shape& shape) {
  const BatchRows* active = local_state<ActiveRows>().rows;
  if (active == nullptr) return {};
  if (shape.empty() || shape[0] != active->rows_.length)
    raise(ErrorKind::value_error, "nn/dropout",
          "expected the {} rows of this rank along dim 0, got the shape {}", active->rows_.length,
          to_string(DimSpan(shape)));
  ShardOfTensor shard = {shape, Dims(shape.size(), 0)};
  shard.global_shape[0] = active->total_;
  shard.offset[0] = active->rows_.start;
  return shard;
}

}  // namespace simmesh::nn
