#include "core/ops/indexing/rearranging.h"

#include "core/gradients/gradient_table.h"
#include "core/gradients/input_gradient.h"
#include "core/ops/attribute_names.h"
#include "core/ops/gradient_call.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "core/ops/view_shapes.h"

namespace simmesh {

namespace {

Gradients repeat_gradient(const GradientCall& call) {
  const Shape& shape = call.input_type(0).shape;
  Shape whole = repeated_shape(call.attributes().get(attribute::repeats), shape);
  Dims order;
  for (std::size_t first : {0, 1})
    for (std::size_t i = first; i < whole.size(); i += 2) order.push_back(std::int64_t(i));
  if (order.empty()) return {call.gradient()};
  return {summed_to_input(call, 0, permute(reshape(call.gradient(), whole), order))};
}

// The copies of an element are side by side.
Gradients repeat_each_gradient(const GradientCall& call) {
  const Dims& repeats = call.attributes().get(attribute::repeats);
  std::int64_t dim = call.attributes().get(attribute::dim);
  if (repeats.empty()) return {call.gradient()};
  std::vector<Tensor> sums;
  for (const Tensor& copies : split(call.gradient(), repeats, dim))
    sums.push_back(sum(copies, {dim}, true));
  return {cat(sums, dim)};
}

Gradients pad_gradient(const GradientCall& call) {
  Dims pads = call.attributes().get(attribute::pad);
  for (std::int64_t& pad : pads) pad = -pad;
  return {pad(call.gradient(), pads)};
}

Gradients roll_gradient(const GradientCall& call) {
  Dims shifts = call.attributes().get(attribute::shifts);
  for (std::int64_t& shift : shifts) shift = -shift;
  return {roll(call.gradient(), shifts, call.attributes().get(attribute::dims))};
}

Gradients flip_gradient(const GradientCall& call) {
  return {flip(call.gradient(), call.attributes().get(attribute::dims))};
}

Gradients tril_gradient(const GradientCall& call) {
  return {tril(call.gradient(), call.attributes().get(attribute::diagonal))};
}

Gradients triu_gradient(const GradientCall& call) {
  return {triu(call.gradient(), call.attributes().get(attribute::diagonal))};
}

}  // namespace

void rearranging_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"repeat", {repeat_gradient}},       {"repeat_interleave", {repeat_each_gradient}},
      {"constant_pad_nd", {pad_gradient}}, {"roll", {roll_gradient}},
      {"flip", {flip_gradient}},           {"tril", {tril_gradient}},
      {"triu", {triu_gradient}},
  };
  table.add(gradients);
}

}  // namespace simmesh
