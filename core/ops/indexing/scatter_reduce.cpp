#include <limits>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/pointwise_op.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/places.h"
#include "core/ops/indexing/scatter_call.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

bool includes_self(const Attributes& attributes) { return attributes.get_or("include_self", true); }

// The element from which a reduction without the element itself starts.
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
  const auto& reduce = attributes.get<std::string>("reduce");
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
    Places counts(std::size_t(x.element_count()), includes_self(attributes) ? 1 : 0);
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
  if (index.element_count() == 0) return adopt_(outputs[0], x.contiguous());
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

// The tensors that the gradients of x and of the source are made of.
struct ScatterGradient {
  explicit ScatterGradient(const GradientCall& of)
      : call(of),
        dim(of.attributes().get<std::int64_t>("dim")),
        reduce(of.attributes().get<std::string>("reduce")),
        index(of.input(1)),
        includes_self(of.attributes().get_or("include_self", true)) {}

  Tensor at_index(const Tensor& result) const { return gather(result, dim, index); }
  Tensor without_replaced(const Tensor& x) const {
    return includes_self ? x : scatter(x, dim, index, 0.0);
  }
  Tensor source() const { return source_within(call.input(2), index.shape()); }
  Tensor product(const Tensor& x, const Tensor& source) const {
    return scatter_reduce(x, dim, index, source, {.reduce = "prod", .include_self = includes_self});
  }

  const GradientCall& call;
  std::int64_t dim;
  std::string reduce;
  Tensor index;
  bool includes_self;
};

Gradients mean_gradients(const ScatterGradient& r) {
  Tensor g = r.call.gradient(), one = ones_like(r.index, g.dtype());
  Tensor start = r.includes_self ? ones_like(g) : zeros_like(g);
  Tensor counts = clamp_min(scatter_add(start, r.dim, r.index, one), 1);
  Tensor shared = g / counts;
  return {r.without_replaced(shared), Tensor(), source_gradient(r.call, shared)};
}

// Equal elements share the gradient.
Gradients extreme_gradients(const ScatterGradient& r) {
  Tensor result = r.call.output(), source = r.source();
  DType dtype = result.dtype();
  Tensor own = r.without_replaced(to(eq(r.call.input(0), result), dtype));
  Tensor theirs = to(eq(source, r.at_index(result)), dtype);
  Tensor winners = scatter_add(own, r.dim, r.index, theirs);
  Tensor shared = r.call.gradient() / clamp_min(winners, 1);
  // An element that gets no source has itself as its result.
  Tensor kept = own;
  if (!r.includes_self) {
    Tensor replaced = scatter(zeros_like(own), r.dim, r.index, 1.0);
    kept = 1 - replaced;
  }
  return {kept * shared, Tensor(), padded_source(r.call, theirs * r.at_index(shared))};
}

// The product of the others: where a factor is zero, the product without it.
Gradients product_gradients(const ScatterGradient& r) {
  Tensor g = r.call.gradient(), source = r.source();
  const Tensor& x = r.call.input(0);
  Tensor filled = masked_fill(x, eq(x, 0), 1);
  Tensor own = r.without_replaced(g * r.product(filled, source) / filled);

  Tensor is_zero = eq(source, 0);
  Tensor zeros = scatter_add(zeros_like(g), r.dim, r.index, to(is_zero, g.dtype()));
  Tensor is_single = logical_and(is_zero, eq(r.at_index(zeros), 1));
  Tensor without = r.product(x, masked_fill(source, is_single, 1));
  Tensor single = r.at_index(g * without);
  Tensor divided = r.at_index(g * r.product(x, source)) / masked_fill(source, is_zero, 1);
  return {own, Tensor(), padded_source(r.call, where(is_single, single, divided))};
}

const Op scatter_reduce_op = {
    .name = "scatter_reduce",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      const auto& reduce = attributes.get<std::string>("reduce");
      bool is_known = reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" ||
                      reduce == "amin";
      if (!is_known)
        raise(ErrorKind::runtime_error, "scatter_reduce",
              "reduce argument must be either sum, prod, mean, amax or amin, got {}", reduce);
      return scatter_types(inputs, attributes, "scatter_reduce");
    },
    .kernel = scatter_reduce_kernel,
    .gradient = [](const GradientCall& call) -> Gradients {
      ScatterGradient r(call);
      if (r.reduce == "sum")
        return {r.without_replaced(call.gradient()), Tensor(),
                source_gradient(call, call.gradient())};
      if (r.reduce == "mean") return mean_gradients(r);
      return r.reduce == "prod" ? product_gradients(r) : extreme_gradients(r);
    },
    .saves = {.inputs = 0b111, .outputs = 1},
};

}  // namespace

Tensor scatter_reduce(const Tensor& x, std::int64_t dim, const Tensor& index, const Tensor& source,
                      const ScatterReduce& options) {
  return call_one(scatter_reduce_op, {x, index, source},
                  {{"dim", wrapped_dim(dim, x.shape().size())},
                   {"reduce", std::string(options.reduce)},
                   {"include_self", options.include_self}});
}

gsl::span<const Op* const> scatter_reduce_ops() {
  static const Op* const ops[] = {&scatter_reduce_op};
  return ops;
}

}  // namespace simmesh
