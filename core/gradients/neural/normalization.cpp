#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/gradients/normalized_gradient.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/kernels/normalized_groups.h"

namespace simmesh {

namespace {

std::size_t normalized_dims(const GradientCall& call) {
  return call.attributes().get(attribute::normalized_shape).size();
}

Gradients layer_norm_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  NormalizedGroups groups = layer_norm_groups(call.input_type(0).shape, call.attributes());
  Tensor bias = call.has_input(2) ? call.input(2) : Tensor();
  NormalizedGradient b =
      normalized_gradient(aligned_operands(call, true, normalized_dims(call), bias), groups);
  if (call.needs(0)) result[0] = normalized_input_gradient(call, groups, b, true);
  if (call.needs(1)) result[1] = summed_to_input(call, 1, b.raw * b.normalized);
  if (call.needs(2)) result[2] = summed_to_input(call, 2, b.raw);
  return result;
}

Gradients rms_norm_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  NormalizedGroups groups = layer_norm_groups(call.input_type(0).shape, call.attributes());
  NormalizedGradient b =
      normalized_gradient(aligned_operands(call, false, normalized_dims(call)), groups);
  if (call.needs(0)) result[0] = normalized_input_gradient(call, groups, b, false);
  if (call.needs(1)) result[1] = summed_to_input(call, 1, b.raw * b.normalized);
  return result;
}

Gradients group_norm_gradient(const GradientCall& call) {
  Gradients result(call.input_count());
  NormalizedGroups groups = group_norm_groups(call.input_type(0).shape, call.attributes());
  // Channels are grouped anew, so they must be whole.
  std::size_t whole_dims = call.input_type(0).shape.size() - 1;
  NormalizedGradient b = normalized_gradient(aligned_operands(call, true, whole_dims), groups);
  if (call.needs(0)) result[0] = normalized_input_gradient(call, groups, b, true);
  if (call.needs(1)) result[1] = channel_sum(call, 1, b.raw * b.normalized);
  if (call.needs(2)) result[2] = channel_sum(call, 2, b.raw);
  return result;
}

}  // namespace

void normalization_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"native_layer_norm", {layer_norm_gradient, {.inputs = 0b111, .outputs = 0b110}}},
      {"_fused_rms_norm", {rms_norm_gradient, {.inputs = 0b11, .outputs = 0b10}}},
      {"native_group_norm", {group_norm_gradient, {.inputs = 0b011, .outputs = 0b110}}},
  };
  table.add(gradients);
}

}  // namespace simmesh
