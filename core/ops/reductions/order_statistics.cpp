#include "core/ops/reductions/order_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/kernels/folded.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/op_list.h"
#include "core/ops/reductions/sorting.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

// Returns the rank of the median of count elements, of which the last `nans` in order are NaN,
// along a dim with size 1.
Tensor median_rank(const Tensor& nans, std::int64_t count, bool ignores_nan) {
  std::int64_t lower_middle = (count - 1) / 2;
  Tensor middle = full_like(nans, double(lower_middle), DType::int64);
  if (!ignores_nan) return where(gt(nans, 0), count - 1, middle);
  return clamp_min(div(rsub(nans, count - 1), 2, RoundingMode::floor), 0);
}

ValuesAndIndices median_along(const Tensor& x, std::int64_t dim, bool keepdim, bool ignores_nan) {
  dim = wrapped_dim(dim, x.shape().size());
  if (x.dim() == 0) return {x, zeros({}, DType::int64)};
  if (x.size(dim) == 0)
    raise(ErrorKind::index_error, "median",
          "median(): Expected reduction dim {} to have non-zero size.", dim);
  Sorted sorted = sort(x, dim);
  Tensor nans = sum(isnan(x.detach()), dim, true);
  Tensor rank = median_rank(nans, x.size(dim), ignores_nan);
  Tensor values = gather(sorted.values, dim, rank), indices = gather(sorted.indices, dim, rank);
  if (keepdim) return {values, indices};
  return {squeeze(values, dim), squeeze(indices, dim)};
}

Op whole_median_op(const std::string& name, bool ignores_nan) {
  auto kernel = [ignores_nan](gsl::span<const Tensor> inputs, const Attributes&,
                              gsl::span<Tensor> outputs) {
    Tensor flat = flatten(inputs[0]);
    if (flat.numel() > 0)
      return copy_(outputs[0], median_along(flat, 0, false, ignores_nan).values);
    double nan = std::numeric_limits<double>::quiet_NaN();
    adopt_(outputs[0], full({}, outputs[0].dtype(), nan));
  };
  return {.name = name,
          .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
            return {{{}, inputs[0].dtype}};
          },
          .kernel = kernel};
}

// Returns the types of an element along a dim and of its index.
TensorTypes element_and_index(const TensorType& x, const Attributes& attributes,
                              std::string_view name) {
  TensorType type = x;
  std::size_t rank = type.shape.size();
  std::int64_t dim = wrapped_dim(attributes.get(attribute::dim), rank);
  if (rank > 0) {
    if (type.shape[std::size_t(dim)] == 0)
      raise(ErrorKind::index_error, name, "{}(): Expected reduction dim {} to have non-zero size.",
            name, dim);
    type.shape[std::size_t(dim)] = 1;
    if (!attributes.get(attribute::keepdim)) type.shape.erase(type.shape.begin() + dim);
  }
  return {type, {type.shape, DType::int64}};
}

Op median_dim_op(const std::string& name, bool ignores_nan) {
  auto shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
    return element_and_index(inputs[0], attributes, "median");
  };
  auto kernel = [ignores_nan](gsl::span<const Tensor> inputs, const Attributes& attributes,
                              gsl::span<Tensor> outputs) {
    ValuesAndIndices found = median_along(inputs[0], attributes.get(attribute::dim),
                                          attributes.get(attribute::keepdim), ignores_nan);
    copy_(outputs[0], found.values);
    copy_(outputs[1], found.indices);
  };
  return {.name = name, .shape = shape, .kernel = kernel};
}

// Returns the place of a row's mode among its elements, which it sorts. The sort isn't stable: of
// equal elements, whose last one counts, PyTorch takes the one that this algorithm of the library
// puts there.
template <class C>
std::int64_t place_of_mode(std::vector<std::pair<C, std::int64_t>>& row) {
  std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) {
    return a.first < b.first || (a.first == a.first && b.first != b.first);
  });
  std::size_t most = 0, begin = 0;
  std::int64_t place = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i + 1 < row.size() && row[i].first == row[i + 1].first) continue;
    if (i + 1 - begin > most) {
      most = i + 1 - begin;
      place = row[i].second;
    }
    begin = i + 1;
  }
  return place;
}

template <class C>
void modes_of(const Folded& x, gsl::span<std::int64_t> places) {
  auto in = x.data.values<C>();
  std::vector<std::pair<C, std::int64_t>> row(std::size_t(x.count));
  for (std::int64_t result = 0; result < x.results(); ++result) {
    std::int64_t base = result / x.inner * x.count * x.inner + result % x.inner;
    for (std::int64_t k = 0; k < x.count; ++k)
      row[std::size_t(k)] = {in[std::size_t(base + k * x.inner)], k};
    places[std::size_t(result)] = place_of_mode(row);
  }
}

void mode_kernel(gsl::span<const Tensor> inputs, const Attributes& attributes,
                 gsl::span<Tensor> outputs) {
  const Tensor& x = inputs[0];
  std::int64_t dim = attributes.get(attribute::dim);
  Shape kept = x.shape();
  if (!kept.empty()) kept[std::size_t(dim)] = 1;
  Tensor places = zeros(kept, DType::int64);
  auto run = [&]<class C>(C) {
    modes_of<C>(folded(converted(x, dtype_of<C>), {dim}), places.mutable_values<std::int64_t>());
  };
  if (x.dim() > 0 && places.numel() > 0) switch (compute_type_of(x.dtype())) {
      case ComputeType::float32: run(float{}); break;
      case ComputeType::float64: run(double{}); break;
      case ComputeType::int64: run(std::int64_t{}); break;
    }
  copy_(outputs[0], gather(x, dim, places).view(DimSpan(outputs[0].shape())));
  copy_(outputs[1], places.view(DimSpan(outputs[1].shape())));
}

const Op mode_op = {
    .name = "mode",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      return element_and_index(inputs[0], attributes, "mode");
    },
    .kernel = mode_kernel};

ValuesAndIndices called(const Op& op, const Tensor& x, std::int64_t dim, bool keepdim) {
  std::vector<Tensor> found = call(
      op, {x}, {attribute::dim = wrapped_dim(dim, x.shape().size()), attribute::keepdim = keepdim});
  return {found[0], found[1]};
}

const Op median_along_op = median_dim_op("median_dim", false);
const Op nanmedian_along_op = median_dim_op("nanmedian_dim", true);
const Op median_op = whole_median_op("median", false);
const Op nanmedian_op = whole_median_op("nanmedian", true);

}  // namespace

Tensor median(const Tensor& x) { return call_one(median_op, {x}); }

Tensor nanmedian(const Tensor& x) { return call_one(nanmedian_op, {x}); }

ValuesAndIndices median(const Tensor& x, std::int64_t dim, bool keepdim) {
  return called(median_along_op, x, dim, keepdim);
}

ValuesAndIndices nanmedian(const Tensor& x, std::int64_t dim, bool keepdim) {
  return called(nanmedian_along_op, x, dim, keepdim);
}

ValuesAndIndices mode(const Tensor& x, std::int64_t dim, bool keepdim) {
  return called(mode_op, x, dim, keepdim);
}

Tensor quantile(const Tensor& x, const Quantile& which) {
  if (!is_floating_point(x.dtype()))
    raise(ErrorKind::runtime_error, "quantile",
          "quantile() input tensor must be either float or double dtype, got {}",
          to_string(x.dtype()));
  if (!(which.q >= 0 && which.q <= 1))
    raise(ErrorKind::runtime_error, "quantile",
          "quantile() q must be in the range [0, 1] but got {}", which.q);
  std::int64_t dim = wrapped_dim(which.dim, x.shape().size());
  std::int64_t count = x.dim() == 0 ? 1 : x.size(dim);
  if (count == 0)
    raise(ErrorKind::runtime_error, "quantile", "quantile() input tensor must be non-empty");
  if (x.dim() == 0) return x;
  double rank = which.q * double(count - 1), below = std::floor(rank);
  Tensor sorted = sort(x, dim).values;
  auto at = [&](double place) {
    return narrow(sorted, {.dim = dim, .start = std::int64_t(place), .length = 1});
  };
  Tensor result = lerp(at(below), at(std::ceil(rank)), rank - below);
  // A NaN is the last in order.
  Tensor last = at(double(count - 1));
  result = where(isnan(last), last, result);
  return which.keepdim ? result : squeeze(result, dim);
}

void order_statistics_ops(OpList& ops) {
  ops.add({&median_op, &nanmedian_op, &median_along_op, &nanmedian_along_op, &mode_op});
}

}  // namespace simmesh
