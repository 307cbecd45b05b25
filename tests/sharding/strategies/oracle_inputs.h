#pragma once

#include "core/check/error.h"
#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh::whole_tensor_oracle {

// Given are the tensors of a call, Tensors its results.
using Given = gsl::span<const Tensor>;
using Tensors = std::vector<Tensor>;

// values is an input that is tried replicated, split along each dim, and with what else is given.
inline Input values(const Shape& shape, std::initializer_list<Placement> others = {Partial()}) {
  return {.shape = shape, .alphabet = shards_and(std::int64_t(shape.size()), others)};
}

// indices is one of indices below a bound.
inline Input indices(const Shape& shape, std::uint64_t below) {
  return {.shape = shape,
          .alphabet = shards_and(std::int64_t(shape.size())),
          .data = {.rule = Rule::index, .below = below, .dtype = DType::int64}};
}

}  // namespace simmesh::whole_tensor_oracle
