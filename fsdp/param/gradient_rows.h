#pragma once

#include <cstdint>

#include "fsdp/param/param.h"

namespace simmesh::fsdp {

// RowPlace is where a parameter's part of each row begins in a flat buffer of `ranks` rows of `row`
// elements.
struct RowPlace {
  std::int64_t ranks;
  std::int64_t row;
  std::int64_t offset;
};

// put_gradient_rows writes a tensor of a parameter's whole shape into a buffer of zeros: the shard
// of rank k, padded, into row k.
void put_gradient_rows(Tensor& flat, const Tensor& whole, const FSDPParam& param,
                       const RowPlace& place);

}  // namespace simmesh::fsdp
