#include <limits>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/kernels/block_sums.h"
#include "core/ops/kernels/pointwise_op.h"
#include "core/ops/kernels/scatter_call.h"
#include "core/ops/op_list.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

bool includes_self(const Attributes& attributes) {
  return attributes.get_or(attribute::include_self, true);
}

// The value from which a reduction without the element itself starts.
template <class C>
C neutral_element(std::string_view reduce) {
  if (reduce == "prod") return 1;
  if (reduce == "sum" || reduce == "mean") return 0;
  using Limits = std::numeric_limits<C>;
  if constexpr (Limits::has_infinity)
    return reduce == "amax" ? -Limits::infinity() : Limits::infinity();
  else
    return reduce == "amax" ? Limits::min() : Limits::max();
}

template <class C>
C reduced_pair(std::string_view reduce, C a, C b) {
  if (reduce == "prod") return times(a, b);
  bool wins = reduce == "amax" ? b > a : b < a;
  return b != b || wins ? (a != a ? a : b) : a;
}

// Rounds down where integers don't divide.
template <class C>
C divided_down(C sum, std::int64_t count) {
  if constexpr (std::is_integral_v<C>)
    return sum / count - (sum % count != 0 && sum < 0);
  else
    return sum / C(count);
}

// Totals are computed in C and rounded once; sums as the arithmetic adds.
template <class C>
void reduce_sources(const Tensor& x, const Places& places, const Tensor& source,
                    const Attributes& attributes, Tensor& out) {
  const auto& reduce = attributes.get(attribute::reduce);
  Tensor totals = converted(x, dtype_of<C>).clone();
  auto total = totals.mutable_values<C>();
  if (!includes_self(attributes))
    for (std::int64_t place : places) total[std::size_t(place)] = neutral_element<C>(reduce);
  if (reduce == "sum")
    return add_blocks({.x = converted(totals, out.dtype()), .places = places, .source = source},
                      out);
  if (reduce == "mean") {
    Tensor start = totals;
    totals = empty(start.shape(), start.dtype());
    add_blocks(
        {.x = start, .places = places, .source = converted(source, dtype_of<C>).contiguous()},
        totals);
    Places counts(std::size_t(x.numel()), includes_self(attributes) ? 1 : 0);
    for (std::int64_t place : places) ++counts[std::size_t(place)];
    std::size_t i = 0;
    for (C& sum : totals.mutable_values<C>()) {
      std::int64_t count = counts[i++];
      if (count > 1) sum = divided_down(sum, count);
    }
  } else {
    Tensor terms = converted(source, dtype_of<C>).contiguous();
    auto values = terms.values<C>();
    for (std::size_t i = 0; i < places.size(); ++i) {
      C& element = total[std::size_t(places[i])];
      element = reduced_pair(reduce, element, values[i]);
    }
  }
  adopt_(out, converted(totals, out.dtype()));
}

void scatter_reduce_kernel(gsl::span<const Tensor> inputs, const Attributes& attributes,
                           gsl::span<Tensor> outputs) {
  const Tensor &x = inputs[0], &index = inputs[1];
  if (index.numel() == 0) return adopt_(outputs[0], x.contiguous());
  Shape shape = with_dims(x.shape());
  Places places = element_places(shape, indexed_dim(attributes, shape), index, "scatter_reduce");
  Tensor source = source_within(inputs[2], index.shape());
  switch (compute_type_of(x.dtype())) {
    case ComputeType::float32:
      return reduce_sources<float>(x, places, source, attributes, outputs[0]);
    case ComputeType::float64:
      return reduce_sources<double>(x, places, source, attributes, outputs[0]);
    case ComputeType::int64:
      return reduce_sources<std::int64_t>(x, places, source, attributes, outputs[0]);
  }
}

const Op scatter_reduce_op = {
    .name = "scatter_reduce",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      const auto& reduce = attributes.get(attribute::reduce);
      bool is_known = reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" ||
                      reduce == "amin";
      if (!is_known)
        raise(ErrorKind::runtime_error, "scatter_reduce",
              "reduce argument must be either sum, prod, mean, amax or amin, got {}", reduce);
      return scatter_types(inputs, attributes, "scatter_reduce");
    },
    .kernel = scatter_reduce_kernel,
};

}  // namespace

Tensor scatter_reduce(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source,
                      const ScatterReduce& options) {
  return call_one(scatter_reduce_op, {x, index, source},
                  {attribute::dim = wrapped_dim(dim, x.shape().size()),
                   attribute::reduce = std::string(options.reduce),
                   attribute::include_self = options.include_self});
}

void scatter_reduce_ops(OpList& ops) { ops.add({&scatter_reduce_op}); }

}  // namespace simmesh
