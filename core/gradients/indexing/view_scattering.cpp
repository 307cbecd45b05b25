#include "core/ops/indexing/view_scattering.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/gradient_call.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Gradients select_scatter_gradient(const GradientCall& call) {
  auto dim = call.attributes().get(attribute::dim);
  auto index = call.attributes().get(attribute::index);
  Gradients result(2);
  Tensor g = call.gradient();
  if (call.needs(0))
    result[0] = select_scatter(g, new_zeros(g, call.input_type(1).shape), dim, index);
  if (call.needs(1)) result[1] = select(g, dim, index);
  return result;
}

Gradients slice_scatter_gradient(const GradientCall& call) {
  SliceRange range = slice_of(call.attributes(), call.output_type().shape);
  Gradients result(2);
  Tensor g = call.gradient();
  if (call.needs(0)) result[0] = slice_scatter(g, new_zeros(g, call.input_type(1).shape), range);
  if (call.needs(1)) result[1] = slice(g, range);
  return result;
}

}  // namespace

void view_scattering_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"select_scatter", {select_scatter_gradient}},
      {"slice_scatter", {slice_scatter_gradient}},
  };
  table.add(gradients);
}

}  // namespace simmesh
