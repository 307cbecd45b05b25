#include "core/ops/functions/embedding_bag.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/check/error.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"
#include "core/tensor/known_tensor.h"
#include "core/tensor/vector_of.h"

namespace simmesh {

namespace {

constexpr const char* bag_source = "embedding_bag";

void check_bags(const Tensor& indices, const EmbeddingBags& bags) {
  if (indices.dim() != 1 && indices.dim() != 2)
    raise(ErrorKind::value_error, bag_source,
          "input has to be 1D or 2D Tensor, but got Tensor of dimension {}", indices.dim());
  if (indices.dim() == 2 && bags.offsets.is_defined())
    raise(ErrorKind::value_error, bag_source,
          "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
          "fixed length sequences");
  if (indices.dim() == 1 && (!bags.offsets.is_defined() || bags.offsets.dim() != 1))
    raise(ErrorKind::value_error, bag_source, "offsets has to be a 1D Tensor");
  if (bags.weights.is_defined() && bags.mode != BagMode::sum)
    raise(ErrorKind::not_implemented_error, bag_source,
          "per_sample_weights is only supported for mode='sum'");
  if (bags.weights.is_defined() && bags.weights.shape() != indices.shape())
    raise(ErrorKind::value_error, bag_source,
          "expected per_sample_weights of the shape {} of input, got {}",
          to_string(DimSpan(indices.shape())), to_string(DimSpan(bags.weights.shape())));
}

// Returns the begin of each bag, and the end of the last one.
Dims bag_bounds(const Tensor& indices, const EmbeddingBags& bags) {
  Dims bounds;
  if (indices.dim() == 2) {
    for (std::int64_t row = 0; row <= indices.size(0); ++row)
      bounds.push_back(row * indices.size(1));
    return bounds;
  }
  Tensor offsets = converted(bags.offsets.detach(), DType::int64).contiguous();
  offsets = known_tensor(offsets, "offsets of bags");
  for (std::int64_t offset : offsets.values<std::int64_t>()) bounds.push_back(offset);
  if (!bags.includes_last_offset) bounds.push_back(indices.numel());
  if (bounds.empty() || bounds[0] != 0)
    raise(ErrorKind::runtime_error, bag_source,
          "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
          "position 0. However, got {}",
          bounds.empty() ? -1 : bounds[0]);
  if (bounds.back() > indices.numel() || !std::is_sorted(bounds.begin(), bounds.end()))
    raise(ErrorKind::runtime_error, bag_source,
          "offsets[-1] can not be greater than input's length {} but got offsets {}",
          indices.numel(), to_string(DimSpan(bounds)));
  return bounds;
}

// Returns the bag of each index.
Tensor bags_of(const Dims& bounds) {
  std::vector<std::int64_t> bags(static_cast<std::size_t>(bounds.back()));
  for (std::size_t bag = 0; bag + 1 < bounds.size(); ++bag)
    std::fill(bags.begin() + bounds[bag], bags.begin() + bounds[bag + 1], std::int64_t(bag));
  return vector_of<std::int64_t>(bags);
}

Tensor combined(const Tensor& rows, const Tensor& bag, std::int64_t count, BagMode mode) {
  Tensor result = zeros({count, rows.size(1)}, rows.dtype());
  if (mode == BagMode::max)
    return scatter_reduce(result, 0, expand(unsqueeze(bag, 1), rows.shape()), rows,
                          {.reduce = "amax", .include_self = false});
  Tensor sums = index_add(result, 0, bag, rows);
  if (mode == BagMode::sum) return sums;
  Tensor sizes = index_add(zeros({count}, rows.dtype()), 0, bag, ones({bag.numel()}, rows.dtype()));
  return sums / unsqueeze(clamp_min(sizes, 1), 1);
}

}  // namespace

Tensor embedding_bag(const Tensor& indices, const Tensor& weight, const EmbeddingBags& bags) {
  check_bags(indices, bags);
  Dims bounds = bag_bounds(indices, bags);
  Tensor bag = bags_of(bounds);
  Tensor places = narrow(flatten(indices), {.dim = 0, .start = 0, .length = bounds.back()});
  Tensor factors;
  if (bags.weights.is_defined())
    factors = narrow(flatten(bags.weights), {.dim = 0, .start = 0, .length = bounds.back()});
  if (bags.padding_idx) {
    std::int64_t padding = *bags.padding_idx + (*bags.padding_idx < 0 ? weight.size(0) : 0);
    Tensor counted = flatten(nonzero(ne(places, padding)));
    places = index_select(places, 0, counted);
    bag = index_select(bag, 0, counted);
    if (factors.is_defined()) factors = index_select(factors, 0, counted);
  }
  Tensor rows = embedding(weight, places);
  if (factors.is_defined()) rows = rows * unsqueeze(factors, 1);
  return combined(rows, bag, std::int64_t(bounds.size()) - 1, bags.mode);
}

}  // namespace simmesh
