#include "core/ops/indexing/resampling.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/attribute_names.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

double scale_of(const GradientCall& call) {
  return call.attributes().get_or(attribute::scale, 0.0);
}

Gradients upsample_gradient(const GradientCall& call) {
  return {upsample_nearest_backward(call.gradient(), call.input_type(0).shape, scale_of(call))};
}

Gradients upsample_backward_gradient(const GradientCall& call) {
  if (scale_of(call) > 0) return {upsample_nearest(call.gradient(), {.scale = scale_of(call)})};
  return {upsample_nearest(call.gradient(), {.size = call.attributes().get(attribute::size)})};
}

Gradients rot90_gradient(const GradientCall& call) {
  return {rot90(call.gradient(), -call.attributes().get(attribute::k),
                call.attributes().get(attribute::dims))};
}

}  // namespace

void resampling_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"upsample_nearest", {upsample_gradient}},
      {"upsample_nearest_backward", {upsample_backward_gradient}},
      {"rot90", {rot90_gradient}},
  };
  table.add(gradients);
}

}  // namespace simmesh
