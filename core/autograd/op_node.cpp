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

// True if an input among those that `among` names, other than the one at index, requires a
// gradient.
bool others_require_grad(gsl::span<const Tensor> inputs, std::size_t index, std::uint32_t among) {
  for (std::size_t other = 0; other < inputs.size(); ++other)
    if (other != index && is_named(among, other) && inputs[other].requires_grad()) return true;
  return false;
}

// A term added to a product doesn't matter for which factors the product saves.
bool is_saved(const Saves& saves, gsl::span<const Tensor> inputs, std::size_t index) {
  if (!is_named(saves.inputs, index)) return false;
  if (saves.crosswise) return others_require_grad(inputs, index, saves.inputs);
  return !is_named(saves.for_others, index) || others_require_grad(inputs, index, Saves::all);
}

Tensor saved_output(const Tensor& output) {
  return output.distribution() ? output.distribution()->saved_output(output) : output.detach();
}

gsl::span<const bool> as_span(const Flags& flags) { return {flags.data(), flags.size()}; }

}  // namespace

OpNode::OpNode(const OpCall& call, const Gradient& gradient, TensorTypes output_types)
    : Node(next_sequence()),
      op_(call.op),
      gradient_(gradient),
      attributes_(call.attributes),
      input_types_(types_of(call.inputs)),
      inputs_(call.inputs.size()),
      outputs_(output_types.size()) {
  for (const Tensor& input : call.inputs) add_edge(Variable::edge_of(input));
  for (TensorType& type : output_types) add_output(std::move(type));
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (is_saved(gradient_.saves, call.inputs, i)) inputs_[i] = SavedTensor(call.inputs[i]);
}

void OpNode::save_outputs(gsl::span<const Tensor> outputs) {
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (is_named(gradient_.saves.outputs, i)) outputs_[i] = SavedTensor(saved_output(outputs[i]));
}

Gradients OpNode::apply(Gradients gradients) { return apply_for(std::move(gradients), {}); }

Gradients OpNode::apply_for(Gradients gradients, gsl::span<const char> wanted) {
  if (released_)
    raise(ErrorKind::runtime_error, "autograd/backward",
          "Trying to backward through the graph a second time: what {} saved was freed by the "
          "first pass, unless that was told to retain the graph",
          op_.name);
  std::vector<Tensor> inputs, outputs;
  for (const SavedTensor& saved : inputs_)
    inputs.push_back(saved.is_defined() ? saved.unpack(*this) : Tensor());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs.push_back(outputs_[i].is_defined() ? outputs_[i].unpack(*this) : Tensor());
    if (outputs_[i].is_defined())
      outputs[i].set_tracking(new Variable(NodePtr(this), std::uint32_t(i)));
  }
  Flags needs, unfinished;
  for (std::size_t i = 0; i < edges().size(); ++i) {
    const Edge& edge = edges()[i];
    needs.push_back(edge.node != nullptr && (wanted.empty() || wanted[i]));
    unfinished.push_back(edge.node && edge.node->takes_unrounded());
  }
  KeepUnrounded scope(takes_unrounded());
  return gradient_.rule(
      GradientCall({op_, attributes_, inputs, outputs, input_types_, output_types(), gradients,
                    as_span(needs), as_span(unfinished)}));
}

// A view that repeats elements adds up their gradients, as an operation does whose gradient is
// rounded.
bool OpNode::takes_unrounded() const {
  if (!op_.view && !op_.moves) return false;
  if (op_.view && numel(output_types()[0].shape) > numel(input_types_[0].shape)) return false;
  return std::any_of(edges().begin(), edges().end(),
                     [](const Edge& edge) { return edge.node && edge.node->takes_unrounded(); });
}

void OpNode::release() {
  released_ = true;
  inputs_.clear();
  outputs_.clear();
}

}  // namespace simmesh
