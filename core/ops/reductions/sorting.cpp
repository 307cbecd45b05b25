#include "core/ops/reductions/sorting.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/kernels/places.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

// is_less orders elements, a NaN after all others.
template <class T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
  return a < b;
}

// as_keys converts to the few types in which elements are compared, all exactly.
Tensor as_keys(const Tensor& x) {
  DType dtype = x.dtype();
  if (is_floating_point(dtype)) dtype = dtype == DType::float64 ? dtype : DType::float32;
  return converted(x, is_floating_point(dtype) ? dtype : DType::int64).contiguous();
}

// visit_keys calls f with the keys' type.
template <class F>
void visit_keys(const Tensor& keys, F&& f) {
  if (keys.dtype() == DType::float64)
    f(double());
  else if (keys.dtype() == DType::float32)
    f(float());
  else
    f(std::int64_t());
}

// last_first moves a dim of a plain tensor to the end.
Tensor moved_last(const Tensor& x, std::int64_t dim) {
  return x.dim() == 0 ? x : movedim(x, dim, -1);
}

struct Order {
  std::int64_t count = 0;  // of elements that must be in order
  bool descending = false;
};

// sorted_rows orders each row of keys[rows, columns] and writes the places of the first count
// elements. Equal elements keep their order in both directions.
Places sorted_rows(const Tensor& keys, std::int64_t columns, const Order& order) {
  Places result;
  visit_keys(keys, [&]<class T>(T) {
    auto values = keys.values<T>();
    Places places(static_cast<std::size_t>(columns));
    for (std::size_t begin = 0; begin < values.size(); begin += std::size_t(columns)) {
      const T* row = values.data() + begin;
      std::iota(places.begin(), places.end(), 0);
      auto comes_before = [&](std::int64_t a, std::int64_t b) {
        T x = row[a], y = row[b];
        if (is_less(x, y)) return !order.descending;
        if (is_less(y, x)) return order.descending;
        return a < b;
      };
      if (order.count == columns)
        std::sort(places.begin(), places.end(), comes_before);
      else
        std::partial_sort(places.begin(), places.begin() + order.count, places.end(), comes_before);
      result.insert(result.end(), places.begin(), places.begin() + order.count);
    }
  });
  return result;
}

void sort_into(const Tensor& x, std::int64_t dim, const Order& order, gsl::span<Tensor> outputs) {
  if (outputs[0].numel() == 0) return;
  Tensor rows = moved_last(x, dim).contiguous();
  std::int64_t columns = x.dim() == 0 ? 1 : x.size(dim);
  Places places = sorted_rows(as_keys(rows), columns, order);
  Tensor indices = empty(moved_last(outputs[1], dim).shape(), DType::int64);
  std::copy(places.begin(), places.end(), indices.mutable_values<std::int64_t>().begin());
  Tensor values = empty(indices.shape(), x.dtype());
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] += std::int64_t(i) / order.count * columns;
  take_blocks(rows, places, 1, values);
  Tensor value_target = moved_last(outputs[0], dim), index_target = moved_last(outputs[1], dim);
  copy_(value_target, values);
  copy_(index_target, indices);
}

const Op sort_op = {
    .name = "sort",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      wrapped_dim(attributes.get(attribute::dim), inputs[0].shape.size());
      return {inputs[0], {inputs[0].shape, DType::int64}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          const Tensor& x = inputs[0];
          std::int64_t dim = wrapped_dim(attributes.get(attribute::dim), x.shape().size());
          sort_into(x, dim,
                    {.count = x.dim() == 0 ? 1 : x.size(dim),
                     .descending = attributes.get_or(attribute::descending, false)},
                    outputs);
        },
};

const Op topk_op = {
    .name = "topk",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      Shape shape = inputs[0].shape;
      std::int64_t dim = wrapped_dim(attributes.get(attribute::dim), shape.size());
      std::int64_t k = attributes.get(attribute::k);
      if (k < 0 || k > (shape.empty() ? 1 : shape[std::size_t(dim)]))
        raise(ErrorKind::runtime_error, "topk", "selected index k out of range, got {} for {}", k,
              to_string(DimSpan(shape)));
      if (!shape.empty()) shape[std::size_t(dim)] = k;
      return {{shape, inputs[0].dtype}, {shape, DType::int64}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          const Tensor& x = inputs[0];
          sort_into(x, wrapped_dim(attributes.get(attribute::dim), x.shape().size()),
                    {.count = attributes.get(attribute::k),
                     .descending = attributes.get_or(attribute::largest, true)},
                    outputs);
        },
};

const Op searchsorted_op = {
    .name = "searchsorted",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      const Shape &sorted = inputs[0].shape, &values = inputs[1].shape;
      bool fits =
          sorted.size() == 1 || (sorted.size() == values.size() && !sorted.empty() &&
                                 std::equal(sorted.begin(), sorted.end() - 1, values.begin()));
      if (!fits)
        raise(ErrorKind::runtime_error, "searchsorted",
              "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
              "tensor and input value tensor must match, got {} and {}",
              to_string(DimSpan(sorted)), to_string(DimSpan(values)));
      return {
          {values, attributes.get_or(attribute::out_int32, false) ? DType::int32 : DType::int64}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          DType common = result_type(inputs[0], inputs[1]);
          Tensor sorted = as_keys(converted(inputs[0], common));
          Tensor values = as_keys(converted(inputs[1], common));
          if (values.numel() == 0) return;
          bool right = attributes.get_or(attribute::right, false);
          std::int64_t length = sorted.shape().back();
          std::int64_t row = sorted.dim() == 1 ? values.numel() : values.shape().back();
          Tensor places = empty(values.shape(), DType::int64);
          visit_keys(sorted, [&]<class T>(T) {
            auto keys = sorted.values<T>();
            auto out = places.mutable_values<std::int64_t>();
            std::int64_t i = 0;
            for (T value : values.values<T>()) {
              const T* begin = keys.data() + i / row * length;
              const T* end = begin + length;
              const T* found = right ? std::upper_bound(begin, end, value, is_less<T>)
                                     : std::lower_bound(begin, end, value, is_less<T>);
              out[std::size_t(i++)] = found - begin;
            }
          });
          adopt_(outputs[0], converted(places, outputs[0].dtype()));
        },
};

// The operands of searchsorted, exchanged.
const Op bucketize_op = {
    .name = "bucketize",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      TensorType turned[] = {inputs[1], inputs[0]};
      return searchsorted_op.shape(turned, attributes);
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Tensor turned[] = {inputs[1], inputs[0]};
          searchsorted_op.kernel(turned, attributes, outputs);
        },
};

// Counts are kept as integers: they are exact, whatever the dtype.
Places bin_counts(const Tensor& values, const Bins& bins) {
  Places counts(std::size_t(bins.bins), 0);
  double low = bins.low, high = bins.high;
  auto elements = values.values<double>();
  if (low == high && !elements.empty()) {
    auto [least, greatest] = std::minmax_element(elements.begin(), elements.end());
    low = *least;
    high = *greatest;
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!std::isfinite(low) || !std::isfinite(high))
    raise(ErrorKind::runtime_error, "histc", "range of [{}, {}] is not finite", low, high);
  for (double x : elements) {
    if (!(x >= low && x <= high)) continue;
    double bin = std::floor((x - low) / (high - low) * double(bins.bins));
    ++counts[std::min(std::size_t(bin), counts.size() - 1)];
  }
  return counts;
}

const Op histc_op = {
    .name = "histc",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      std::int64_t bins = attributes.get(attribute::bins);
      if (!is_floating_point(inputs[0].dtype))
        raise(ErrorKind::runtime_error, "histc", "expected a floating dtype, got {}",
              to_string(inputs[0].dtype));
      if (bins < 1) raise(ErrorKind::runtime_error, "histc", "bins must be > 0, got {}", bins);
      if (attributes.get(attribute::min).as<double>() > attributes.get(attribute::max).as<double>())
        raise(ErrorKind::runtime_error, "histc", "max must be larger than min");
      return {{{bins}, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Places counts = bin_counts(converted(inputs[0], DType::float64).contiguous(),
                                     {.bins = outputs[0].size(0),
                                      .low = attributes.get(attribute::min).as<double>(),
                                      .high = attributes.get(attribute::max).as<double>()});
          Tensor result = empty(outputs[0].shape(), DType::int64);
          std::copy(counts.begin(), counts.end(), result.mutable_values<std::int64_t>().begin());
          adopt_(outputs[0], converted(result, outputs[0].dtype()));
        },
};

Sorted both(const std::vector<Tensor>& outputs) { return {outputs[0], outputs[1]}; }

}  // namespace

Sorted sort(const Tensor& x, std::int64_t dim, bool descending) {
  return both(call(
      sort_op, {x},
      {attribute::dim = wrapped_dim(dim, x.shape().size()), attribute::descending = descending}));
}

Tensor argsort(const Tensor& x, std::int64_t dim, bool descending) {
  return sort(x.detach(), dim, descending).indices;
}

Sorted topk(const Tensor& x, const TopK& which) {
  return both(
      call(topk_op, {x},
           {attribute::k = which.k, attribute::dim = wrapped_dim(which.dim, x.shape().size()),
            attribute::largest = which.largest}));
}

Sorted kthvalue(const Tensor& x, const KthValue& which) {
  std::int64_t dim = wrapped_dim(which.dim, x.shape().size());
  if (which.k < 1 || which.k > (x.dim() == 0 ? 1 : x.size(dim)))
    raise(ErrorKind::runtime_error, "kthvalue", "selected number k out of range for dimension {}",
          dim);
  Sorted sorted = sort(x, dim);
  if (x.dim() == 0) return sorted;
  auto kept = [&](const Tensor& of) {
    Tensor one = narrow(of, {.dim = dim, .start = which.k - 1, .length = 1});
    return which.keepdim ? one : squeeze(one, dim);
  };
  return {kept(sorted.values), kept(sorted.indices)};
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values, const SearchOptions& options) {
  return call_one(searchsorted_op, {sorted.detach(), values.detach()},
                  {attribute::right = options.right, attribute::out_int32 = options.out_int32});
}

Tensor bucketize(const Tensor& values, const Tensor& boundaries, const SearchOptions& options) {
  if (boundaries.dim() != 1)
    raise(ErrorKind::runtime_error, "bucketize",
          "boundaries tensor must be 1 dimension, but got dim({})", boundaries.dim());
  return call_one(bucketize_op, {values.detach(), boundaries.detach()},
                  {attribute::right = options.right, attribute::out_int32 = options.out_int32});
}

Tensor histc(const Tensor& x, const Bins& bins) {
  return call_one(
      histc_op, {x.detach()},
      {attribute::bins = bins.bins, attribute::min = bins.low, attribute::max = bins.high});
}

Unique unique(const Tensor& x) {
  if (x.distribution())
    raise(ErrorKind::runtime_error, "unique",
          "Sharding propagation failed: expected a plain tensor, since the shape of the result "
          "depends on the elements");
  Tensor flat = x.detach().contiguous();
  Tensor keys = as_keys(flat);
  std::int64_t count = x.numel();
  Places order = count == 0 ? Places() : sorted_rows(keys, count, {.count = count});
  Tensor inverse = empty(x.shape(), DType::int64);
  auto places = inverse.mutable_values<std::int64_t>();
  Places first, counts;
  visit_keys(keys, [&]<class T>(T) {
    auto values = keys.values<T>();
    for (std::int64_t place : order) {
      bool is_new =
          first.empty() || !(values[std::size_t(first.back())] == values[std::size_t(place)]);
      if (is_new) {
        first.push_back(place);
        counts.push_back(0);
      }
      ++counts.back();
      places[std::size_t(place)] = std::int64_t(first.size()) - 1;
    }
  });
  Unique result = {empty({std::int64_t(first.size())}, x.dtype()), inverse,
                   empty({std::int64_t(first.size())}, DType::int64)};
  take_blocks(flat, first, 1, result.values);
  std::copy(counts.begin(), counts.end(), result.counts.mutable_values<std::int64_t>().begin());
  return result;
}

void sorting_ops(OpList& ops) {
  ops.add({&bucketize_op, &histc_op, &searchsorted_op, &sort_op, &topk_op});
}

}  // namespace simmesh
