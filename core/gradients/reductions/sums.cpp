#include "core/ops/reductions/sums.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/spread.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/gradient_call.h"
#include "core/ops/kernels/reduction_call.h"

namespace simmesh {

namespace {

Gradients prod_gradient(const GradientCall& call) {
  const Tensor& x = call.input(0);
  Dims dims = reduced_dims(call.attributes(), x.shape().size());
  // Where exactly one factor is zero, only that factor has a slope: the product of the others.
  Tensor is_zero = eq(x, 0);
  Tensor filled = masked_fill(x, is_zero, 1);
  Tensor rest = prod(filled, dims, true);
  Tensor zero_count = sum(is_zero, dims, true);
  Tensor slope = where(is_zero, masked_fill(rest, ne(zero_count, 1), 0),
                       masked_fill(rest, ne(zero_count, 0), 0) / filled);
  return {to(kept(call, call.gradient()) * slope, call.input_type(0).dtype)};
}

Gradients sum_gradient(const GradientCall& call) {
  return {to(spread(call, call.gradient()), call.input_type(0).dtype)};
}

Gradients mean_gradient(const GradientCall& call) {
  std::int64_t count = reduced_count(call.input_type(0).shape, call.attributes());
  return {to(spread(call, call.gradient()) / double(count), call.input_type(0).dtype)};
}

Gradients nansum_gradient(const GradientCall& call) {
  Tensor g = to(spread(call, call.gradient()), call.input_type(0).dtype);
  return {masked_fill(g, isnan(call.input(0)), 0)};
}

}  // namespace

void sums_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"sum", {sum_gradient}},
      {"mean", {mean_gradient}},
      {"nansum", {nansum_gradient, {.inputs = 1}}},
      {"prod", {prod_gradient, {.inputs = 1}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
