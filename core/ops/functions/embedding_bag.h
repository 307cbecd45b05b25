#pragma once

#include <cstdint>
#include <optional>

#include "core/tensor/tensor.h"

namespace simmesh {

// BagMode says how the rows of a bag are combined.
enum class BagMode : std::uint8_t { sum, mean, max };

// EmbeddingBags are the options of embedding_bag.
struct EmbeddingBags {
  Tensor offsets = {};  // of a vector of indices: where each bag begins, ascending from 0
  Tensor weights = {};  // of each index; for sums only
  BagMode mode = BagMode::mean;
  bool includes_last_offset = false;          // the last offset only ends the last bag
  std::optional<std::int64_t> padding_idx{};  // a row that isn't counted
};

// embedding_bag returns [bags, width]: the rows of weight[n, width] at the indices of each bag,
// combined; zeros for an empty bag. The rows of a matrix of indices are the bags, and a vector is
// cut at the offsets. Raises a ValueError for other shapes, a NotImplementedError for weights of
// another mode, a RuntimeError for offsets that aren't such, and an IndexError for an index that is
// no row.
Tensor embedding_bag(const Tensor& indices, const Tensor& weight, const EmbeddingBags& bags = {});

}  // namespace simmesh
