#include "core/autograd/op_node.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/gradient_call.h"
#include "core/ops/input_conversion.h"
#include "core/ops/reused_results.h"

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
      input_types_(types_of(call.inputs)) {
  for (const Tensor& input : call.inputs) add_edge(Variable::edge_of(input));
  for (TensorType& type : output_types) add_output(std::move(type));
  Flags saved;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    saved.push_back(call.inputs[i].is_defined() && is_saved(gradient_.saves, call.inputs, i));
  inputs_.reserve(std::size_t(std::count(saved.begin(), saved.end(), true)));
  for (std::size_t i = 0; i < saved.size(); ++i)
    if (saved[i]) inputs_.push_back({i, SavedTensor(call.inputs[i])});
}

void OpNode::save_outputs(gsl::span<const Tensor> outputs) {
  outputs_.clear();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (is_named(gradient_.saves.outputs, i) && outputs[i].is_defined())
      outputs_.push_back({i, SavedTensor(saved_output(outputs[i]))});
}

Gradients OpNode::apply(Gradients gradients) { return apply_for(std::move(gradients), {}); }

Gradients OpNode::apply_for(Gradients gradients, gsl::span<const char> wanted) {
  if (released_)
    raise(ErrorKind::runtime_error, "autograd/backward",
          "Trying to backward through the graph a second time: what {} saved was freed by the "
          "first pass, unless that was told to retain the graph",
          op_.name);
  std::vector<Tensor> inputs(input_types_.size()), outputs(output_types().size());
  for (const Saved& saved : inputs_) inputs[saved.position] = saved.tensor.unpack(*this);
  for (const auto& [position, saved] : outputs_) {
    outputs[position] = saved.unpack(*this);
    outputs[position].set_tracking(new Variable(NodePtr(this), std::uint32_t(position)));
  }
  Flags needs, unfinished;
  for (std::size_t i = 0; i < edges().size(); ++i) {
    const Edge& edge = edges()[i];
    needs.push_back(edge.node != nullptr && (wanted.empty() || wanted[i]));
    unfinished.push_back(edge.node && edge.node->takes_unrounded());
  }
  KeepUnrounded scope(takes_unrounded());
  GradientCall::Parts parts{op_,       attributes_,    inputs,
                            outputs,   input_types_,   output_types(),
                            gradients, as_span(needs), as_span(unfinished)};
  return run_rule(parts);
}

// Applies the rule, unless an earlier run of the program has done so.
Gradients OpNode::run_rule(const GradientCall::Parts& parts) const {
  auto compute = [&] { return gradient_.rule(GradientCall(parts)); };
  ReusedResults::Line* line = ReusedResults::Line::active();
  if (!line || grad_enabled() || InputConversion::is_open() || parts.needs.size() > 32)
    return compute();
  std::vector<Tensor> operands(parts.inputs.begin(), parts.inputs.end());
  operands.insert(operands.end(), parts.outputs.begin(), parts.outputs.end());
  operands.insert(operands.end(), parts.gradients.begin(), parts.gradients.end());
  std::uint64_t flags = 0;
  for (std::size_t i = 0; i < parts.needs.size(); ++i)
    flags |= std::uint64_t(parts.needs[i]) << i | std::uint64_t(parts.unfinished[i]) << (32 + i);
  return line->run(
      {op_, ComputedOp::Part::gradient, attributes_, operands, parts.input_types, flags}, compute);
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
