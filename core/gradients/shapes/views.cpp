#include "core/ops/shapes/views.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/attribute_names.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "core/ops/matrices/linear_algebra.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/view_arguments.h"

namespace simmesh {

namespace {

Gradients to_input_shape(const GradientCall& call) {
  return {reshape(call.gradient(), call.input_type(0).shape)};
}

Gradients transpose_gradient(const GradientCall& call) {
  return {transpose(call.gradient(), call.attributes().get(attribute::dim0),
                    call.attributes().get(attribute::dim1))};
}

Gradients t_gradient(const GradientCall& call) { return {t(call.gradient())}; }

Gradients permute_gradient(const GradientCall& call) {
  Dims order =
      wrapped_order(call.attributes().get(attribute::dims), call.output_type().shape.size());
  Dims inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse[std::size_t(order[i])] = std::int64_t(i);
  return {permute(call.gradient(), inverse)};
}

Gradients unsqueeze_gradient(const GradientCall& call) {
  return {squeeze(call.gradient(), call.attributes().get(attribute::dim))};
}

Gradients expand_gradient(const GradientCall& call) {
  return {summed_to_input(call, 0, call.gradient())};
}

Gradients slice_gradient(const GradientCall& call) {
  const Shape& shape = call.input_type(0).shape;
  return {slice_backward(call.gradient(), shape, slice_of(call.attributes(), shape))};
}

Gradients select_gradient(const GradientCall& call) {
  return {select_backward(call.gradient(), call.input_type(0).shape,
                          call.attributes().get(attribute::dim),
                          call.attributes().get(attribute::index))};
}

Gradients diagonal_gradient(const GradientCall& call) {
  return {
      diagonal_backward(call.gradient(), call.input_type(0).shape, diagonal_of(call.attributes()))};
}

// Parts without a gradient get zeros, distributed like the gradients of the others.
std::vector<Tensor> all_gradients(const GradientCall& call) {
  std::size_t given = 0;
  while (given + 1 < call.output_count() && !call.has_gradient(given)) ++given;
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < call.output_count(); ++i)
    gradients.push_back(call.has_gradient(i)
                            ? call.gradient(i)
                            : new_zeros(call.gradient(given), call.output_type(i).shape));
  return gradients;
}

Gradients split_gradient(const GradientCall& call) {
  return {cat(all_gradients(call), call.attributes().get(attribute::dim))};
}

Gradients unbind_gradient(const GradientCall& call) {
  if (call.output_count() == 0) return {Tensor()};
  return {stack(all_gradients(call), call.attributes().get(attribute::dim))};
}

Gradients slice_backward_gradient(const GradientCall& call) {
  return {slice(call.gradient(), slice_of(call.attributes(), call.output_type().shape))};
}

Gradients select_backward_gradient(const GradientCall& call) {
  return {select(call.gradient(), call.attributes().get(attribute::dim),
                 call.attributes().get(attribute::index))};
}

Gradients diagonal_backward_gradient(const GradientCall& call) {
  return {diagonal(call.gradient(), diagonal_of(call.attributes()))};
}

Gradients clone_gradient(const GradientCall& call) { return {call.gradient()}; }

}  // namespace

void views_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"view", {to_input_shape}},
      {"reshape", {to_input_shape}},
      {"transpose", {transpose_gradient}},
      {"t", {t_gradient}},
      {"permute", {permute_gradient}},
      {"squeeze", {to_input_shape}},
      {"unsqueeze", {unsqueeze_gradient}},
      {"expand", {expand_gradient}},
      {"slice", {slice_gradient}},
      {"select", {select_gradient}},
      {"diagonal", {diagonal_gradient}},
      {"split_with_sizes", {split_gradient}},
      {"unbind", {unbind_gradient}},
      {"clone", {clone_gradient}},
      {"slice_backward", {slice_backward_gradient}},
      {"select_backward", {select_backward_gradient}},
      {"diagonal_backward", {diagonal_backward_gradient}},
  };
  table.add(gradients);
}

}  // namespace simmesh
