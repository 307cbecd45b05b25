#include "core/autograd/op_node.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

using Flags = boost::container::small_vector<bool, 8>;

bool is_named(std::uint32_t positions, std::size_t index) {
  return index < 32 ? (positions >> index & 1) != 0 : positions == Saves::all;
}

// Looks at the inputs named by `among`.
bool others_require_grad(gsl::span<const Tensor> inputs, std::size_t index, std::uint32_t among) {
  for (std::size_t other = 0; other < inputs.size(); ++other)
    if (other != index && is_named(among, other) && inputs[other].requires_grad()) return true;
  return false;
}

// What is added to a product has no say in what the product saves of its factors.
bool is_saved(const Saves& saves, gsl::span<const Tensor> inputs, std::size_t index) {
  if (!is_named(saves.inputs, index)) return false;
  if (saves.crosswise) return others_require_grad(inputs, index, saves.inputs);
  return !is_named(saves.for_others, index) || others_require_grad(inputs, index, Saves::all);
}

gsl::span<const bool> as_span(const Flags& flags) { return {flags.data(), flags.size()}; }

}  // namespace

OpNode::OpNode(const OpCall& call, const Gradient& gradient, gsl::span<const Tensor> outputs)
    : Node(next_sequence()),
      op_(call.op),
      gradient_(gradient),
      attributes_(call.attributes),
      input_types_(types_of(call.inputs)),
      inputs_(call.inputs.size()),
      outputs_(outputs.size()) {
  for (const Tensor& input : call.inputs)
    add_edge(input.requires_grad() ? Variable::of(input)->edge(input) : Edge());
  for (const Tensor& output : outputs) add_output(type_of(output));
  const Saves& saves = gradient_.saves;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (is_saved(saves, call.inputs, i)) inputs_[i] = SavedTensor(call.inputs[i]);
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (is_named(saves.outputs, i))
      outputs_[i] = SavedTensor::of_output(outputs[i], std::uint32_t(i));
}

Gradients OpNode::apply(Gradients gradients) {
  if (released_)
    raise(ErrorKind::runtime_error, "autograd/backward",
          "Trying to backward through the graph a second time: what {} saved was freed by the "
          "first pass, unless that was told to retain the graph",
          op_.name);
  std::vector<Tensor> inputs, outputs;
  for (const SavedTensor& saved : inputs_)
    inputs.push_back(saved.is_defined() ? saved.unpack(*this) : Tensor());
  for (const SavedTensor& saved : outputs_)
    outputs.push_back(saved.is_defined() ? saved.unpack(*this) : Tensor());
  Flags needs, unfinished;
  for (const Edge& edge : edges()) {
    needs.push_back(edge.node != nullptr);
    unfinished.push_back(edge.node && edge.node->takes_unrounded());
  }
  UnroundedSums scope(takes_unrounded());
  return gradient_.rule(
      GradientCall({op_, attributes_, inputs, outputs, input_types_, output_types(), gradients,
                    as_span(needs), as_span(unfinished)}));
}

bool OpNode::takes_unrounded() const {
  if (!op_.view && !op_.moves) return false;
  return std::any_of(edges().begin(), edges().end(),
                     [](const Edge& edge) { return edge.node && edge.node->takes_unrounded(); });
}

void OpNode::release() {
  released_ = true;
  inputs_.clear();
  outputs_.clear();
}

}  // namespace simmesh
