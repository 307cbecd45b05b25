#include "core/gradients/gradient_table.h"
#include "core/gradients/source_gradient.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/kernels/scatter_call.h"
#include "core/ops/shapes/factories.h"

namespace simmesh {

namespace {

// The tensors from which the gradients of x and of the source are made.
struct ScatterGradient {
  explicit ScatterGradient(const GradientCall& of)
      : call(of),
        dim(of.attributes().get(attribute::dim)),
        reduce(of.attributes().get(attribute::reduce)),
        index(of.input(1)),
        includes_self(of.attributes().get_or(attribute::include_self, true)) {}

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
  // An element that gets no source is its own result.
  Tensor kept = own;
  if (!r.includes_self) {
    Tensor replaced = scatter(zeros_like(own), r.dim, r.index, 1.0);
    kept = 1 - replaced;
  }
  return {kept * shared, Tensor(), padded_source(r.call, theirs * r.at_index(shared))};
}

// The gradient is the product of the other factors: where a factor is zero, the product without it.
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

Gradients scatter_reduce_gradient(const GradientCall& call) {
  ScatterGradient r(call);
  if (r.reduce == "sum")
    return {r.without_replaced(call.gradient()), Tensor(), source_gradient(call, call.gradient())};
  if (r.reduce == "mean") return mean_gradients(r);
  return r.reduce == "prod" ? product_gradients(r) : extreme_gradients(r);
}

}  // namespace

void scatter_reduce_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"scatter_reduce", {scatter_reduce_gradient, {.inputs = 0b111, .outputs = 1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
