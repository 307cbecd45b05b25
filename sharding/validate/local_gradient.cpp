#include "sharding/validate/local_gradient.h"

#include <fmt/format.h>

#include "core/engine/options/arithmetic.h"
#include "core/gradients/gradient_of.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/gradient_call.h"
#include "sharding/validate/crafted_pieces.h"
#include "sharding/validate/whole_of_pieces.h"

namespace simmesh {

namespace {

const Arithmetic& exact_arithmetic() {
  static const Arithmetic exact = Arithmetic::exact();
  return exact;
}

bool is_floating(const TensorType& type) {
  return type.is_defined && is_floating_point(type.dtype);
}

bool adds(const Placement& placement) {
  return placement.is_plain_partial() &&
         (placement.reduce_op() == ReduceOp::sum || placement.reduce_op() == ReduceOp::avg);
}

bool is_average(const Placement& placement) {
  return adds(placement) && placement.reduce_op() == ReduceOp::avg;
}

TensorTypes types_or_none(gsl::span<const Tensor> tensors) {
  TensorTypes types;
  for (const Tensor& tensor : tensors)
    types.push_back(tensor.is_defined() ? type_of(tensor) : TensorType{{}, DType::float32, false});
  return types;
}

// Returns one rank's gradients, or those of the whole call.
Gradients gradients_of(const Op& op, const Attributes& attributes, gsl::span<const Tensor> inputs,
                       gsl::span<const Tensor> outputs, std::size_t output,
                       const Tensor& gradient) {
  TensorTypes input_types = types_or_none(inputs), output_types = types_or_none(outputs);
  std::vector<Tensor> given(outputs.size());
  given[output] = gradient;
  boost::container::small_vector<bool, 8> needs, unfinished;
  for (const TensorType& type : input_types) {
    needs.push_back(is_floating(type));
    unfinished.push_back(true);
  }
  NoGrad mode;
  return gradient_of(op)->rule(
      GradientCall({.op = op,
                    .attributes = attributes,
                    .inputs = inputs,
                    .outputs = outputs,
                    .input_types = input_types,
                    .output_types = output_types,
                    .gradients = given,
                    .needs = {needs.data(), needs.size()},
                    .unfinished = {unfinished.data(), unfinished.size()}}));
}

Placement label_of(const Placement& input, const Placement& output) {
  if (input.splits()) return input;
  if (is_average(input)) return Partial(ReduceOp::sum);
  if (input.is_replicate() && !output.is_replicate()) return Partial(ReduceOp::sum);
  return Replicate();
}

std::vector<Tensor> output_gradients(const Tensor& gradient, const Placement& output,
                                     std::int64_t ranks) {
  if (output.splits()) return craft_pieces(gradient, Placements{output}, Dims{ranks}, 0);
  Tensor each = is_average(output) ? div(gradient, double(ranks)) : gradient;
  return std::vector<Tensor>(std::size_t(ranks), each);
}

Tensor or_zeros(const Tensor& gradient, const Tensor& input) {
  return gradient.is_defined() ? gradient : zeros(input.shape(), input.dtype());
}

std::vector<Gradients> gradients_of_ranks(const PlacedCall& placed, std::size_t output,
                                          const Tensor& gradient) {
  std::size_t ranks = placed.outputs.of_rank.size();
  std::vector<Tensor> given =
      output_gradients(gradient, *placed.rule.outputs[output], std::int64_t(ranks));
  std::vector<Gradients> result;
  std::vector<Tensor> own(placed.pieces.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i] = placed.pieces[i]->empty() ? Tensor() : (*placed.pieces[i])[rank];
    const Attributes& attributes = placed.outputs.attributes.empty()
                                       ? placed.call.attributes
                                       : placed.outputs.attributes[rank];
    result.push_back(gradients_of(placed.call.op, attributes, own, placed.outputs.of_rank[rank],
                                  output, given[rank]));
  }
  return result;
}

}  // namespace

bool has_gradient(const WholeCall& call, std::size_t output) {
  if (!gradient_of(call.op) || call.strategy.compute) return false;
  if (!is_floating(call.output_types[output])) return false;
  for (const TensorType& type : call.input_types)
    if (is_floating(type)) return true;
  return false;
}

bool is_differentiable(const StrategyRow& rule, std::size_t output, const WholeCall& call) {
  auto fits = [](const Placement& one) { return !one.is_partial() || adds(one); };
  if (!rule.outputs[output] || !fits(*rule.outputs[output])) return false;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i)
    if (is_floating(call.input_types[i]) && (!rule.inputs[i] || !fits(*rule.inputs[i])))
      return false;
  return true;
}

WholeGradient whole_gradient(const WholeCall& call, std::size_t output, const Tensor& of_output) {
  ArithmeticScope scope(exact_arithmetic());
  Gradients all =
      gradients_of(call.op, call.attributes, call.inputs, call.outputs, output, of_output);
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (is_floating(call.input_types[i])) all[i] = or_zeros(all[i], call.inputs[i]).contiguous();
  return {output, of_output, std::move(all)};
}

std::string gradient_difference(const PlacedCall& placed, const WholeGradient& gradient) {
  const WholeCall& call = placed.call;
  const std::optional<Placement>& output = placed.rule.outputs[gradient.output];
  ArithmeticScope scope(exact_arithmetic());
  std::vector<Gradients> of_ranks = gradients_of_ranks(placed, gradient.output, gradient.of_output);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!is_floating(call.input_types[i])) continue;
    std::vector<Tensor> pieces;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
      pieces.push_back(or_zeros(of_ranks[rank][i], (*placed.pieces[i])[rank]));
    Placements label = {label_of(*placed.rule.inputs[i], *output)};
    Dims mesh_shape = {std::int64_t(of_ranks.size())};
    KeepUnrounded sums;
    JoinedPieces joined{.pieces = pieces, .placements = label, .mesh_shape = mesh_shape};
    if (make_whole(joined, gradient.of_inputs[i])) continue;
    std::string wrong = what_differs(joined, gradient.of_inputs[i]);
    if (!wrong.empty())
      return fmt::format("gradient of input {} as {}: {}", i, to_string(label[0]), wrong);
  }
  return {};
}

}  // namespace simmesh
