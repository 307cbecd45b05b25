#include "core/ops/reductions/scans.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/gradient_call.h"
#include "core/ops/indexing/rearranging.h"

namespace simmesh {

namespace {

Tensor summed_from_end(const Tensor& x, std::int64_t dim) {
  if (x.dim() == 0) return x;
  return flip(cumsum(flip(x, {dim}), dim), {dim});
}

// Up to the first zero the slope of each product is the product divided by the factor; at that zero
// it is the product without it, and after it nothing.
Gradients cumprod_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  auto dim = call.attributes().get(attribute::dim);
  Tensor g = call.gradient();
  Tensor is_zero = eq(x, 0);
  Tensor zeros_so_far = cumsum(is_zero, dim);
  Tensor is_first = logical_and(is_zero, eq(zeros_so_far, 1));
  Tensor without_first = cumprod(masked_fill(x, is_first, 1), dim);
  Tensor before = eq(zeros_so_far, 0);
  Tensor divided = summed_from_end(g * call.output(), dim) / masked_fill(x, is_zero, 1);
  Tensor at_first = summed_from_end(masked_fill(g * without_first, before, 0), dim);
  return {where(before, divided, masked_fill(at_first, logical_not(is_first), 0))};
}

Gradients cumsum_gradient(const GradientCall& call) {
  return {summed_from_end(call.gradient(), call.attributes().get(attribute::dim))};
}

}  // namespace

void scans_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"cumsum", {cumsum_gradient}},
      {"cumprod", {cumprod_gradient, {.inputs = 1, .outputs = 1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
