#include "sharding/propagation/dispatch.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"
#include "sharding/dtensor/dispatched_op.h"
#include "sharding/dtensor/implicit_replication.h"
#include "sharding/propagation/propagation_cache.h"
#include "sharding/strategies/strategy_of.h"

namespace simmesh {

namespace {

constexpr std::string_view source = "sharding/dispatch";

// Inputs are the inputs of a call as distributed tensors, null for those that are absent.
class Inputs {
 public:
  std::size_t size() const { return tensors_.size(); }
  const DTensor* operator[](std::size_t index) const { return tensors_[index]; }
  auto begin() const { return tensors_.begin(); }
  auto end() const { return tensors_.end(); }
  DistributedInputs all() const { return {tensors_.data(), tensors_.size()}; }

  void add(const DTensor* tensor) { tensors_.push_back(tensor); }
  // own keeps a tensor that isn't one of the call's.
  const DTensor* own(DTensor tensor) {
    owned_.push_back(std::make_unique<DTensor>(std::move(tensor)));
    return owned_.back().get();
  }
  void replace(std::size_t index, DTensor tensor) { tensors_[index] = own(std::move(tensor)); }

 private:
  boost::container::small_vector<const DTensor*, 4> tensors_;
  std::vector<std::unique_ptr<DTensor>> owned_;
};

const Tensor& first_distributed(const OpCall& call) {
  for (const Tensor& input : call.inputs)
    if (input.distribution()) return input;
  return *call.out;
}

DTensor replicated(const Tensor& plain, const DTensor& beside, const OpCall& call) {
  if (plain.numel() != 1 && !ImplicitReplication::is_on())
    raise(ErrorKind::runtime_error, source,
          "Operator {} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
          "DTensor before calling distributed operators, got {} beside a plain {}{}",
          call.op.name, to_string(beside.spec()), to_string(plain.dtype()),
          to_string(DimSpan(plain.shape())));
  Placements placements(beside.placements().size(), Replicate());
  return DTensor({beside.spec().groups, {std::move(placements), {}}, plain.shape(), plain.dtype()},
                 plain.detach());
}

void check_mesh(const DTensor& tensor, const DTensor& first, const OpCall& call) {
  if (tensor.spec().groups == first.spec().groups || tensor.mesh() == first.mesh()) return;
  const ShardingStrategy* strategy = strategy_of(call.op);
  bool takes_list = strategy && strategy->takes_list;
  raise(takes_list ? ErrorKind::not_implemented_error : ErrorKind::runtime_error, source,
        "Operator {} on inputs on different meshes is not supported: expected all on {}, got {}",
        call.op.name, to_string(first.spec()), to_string(tensor.spec()));
}

Inputs distributed_inputs(const OpCall& call, const DTensor& first) {
  Inputs inputs;
  for (const Tensor& input : call.inputs) {
    if (!input.is_defined()) {
      inputs.add(nullptr);
    } else if (input.distribution()) {
      const DTensor& distributed = DTensor::in(input);
      check_mesh(distributed, first, call);
      inputs.add(&distributed);
    } else {
      inputs.add(inputs.own(replicated(input, first, call)));
    }
  }
  return inputs;
}

// Describes a call to an observer; `given` are the inputs before they were redistributed.
DispatchedOp seen_call(const OpCall& call, const Inputs& given, const PropagatedCall& known) {
  DispatchedOp seen{.op = call.op, .inputs = call.inputs, .given = {}, .used = {}, .outputs = {}};
  for (std::size_t i = 0; i < given.size(); ++i) {
    bool is_plain = !call.inputs[i].distribution();
    const auto& target = known.propagation->inputs[i];
    using Entry = std::optional<Placements>;
    seen.given.push_back(is_plain || !given[i] ? Entry() : given[i]->placements());
    seen.used.push_back(is_plain || !target ? Entry() : target->placements);
  }
  for (const auto& output : known.propagation->outputs)
    seen.outputs.push_back(output ? output->placements : Placements());
  seen.redistribute_cost_us = known.propagation->cost_us;
  return seen;
}

// Converts an input that is to be cut into parts of a sum to the result's dtype, where it is
// integer.
DTensor with_parts(const DTensor& input, const Sharding& target, const TensorTypes& results) {
  bool is_whole =
      is_floating_point(input.dtype()) || results.empty() ||
      !makes_parts_of_a_sum(input.placements(), target.placements, input.mesh().shape());
  if (is_whole) return input;
  DTensorSpec spec = input.spec();
  spec.dtype = results[0].dtype;
  return DTensor(spec, converted(input.local(), spec.dtype));
}

void bring_inputs(Inputs& inputs, const Propagation& propagation) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || inputs[i]->spec().sharding == *propagation.inputs[i]) continue;
    const Sharding& target = *propagation.inputs[i];
    inputs.replace(
        i, with_parts(*inputs[i], target, propagation.output_types)
               .redistribute_local(target.placements,
                                   {.planner = PlannerChoice::as_operand, .order = target.order}));
  }
}

using Pieces = boost::container::small_vector<Tensor, 4>;

Pieces pieces_of(const Inputs& inputs) {
  Pieces pieces;
  for (const DTensor* input : inputs) {
    if (input)
      pieces.push_back(input->local());
    else
      pieces.emplace_back();
  }
  return pieces;
}

// Runs the op by its strategy, where that isn't a plain call on the pieces.
std::vector<Tensor> run_by_strategy(const OpCall& call, const Inputs& inputs, const Pieces& pieces,
                                    PropagatedCall& known, Tensor& mask) {
  const ShardingStrategy& strategy = *known.propagation->strategy;
  std::vector<const DTensorSpec*> input_specs, output_specs;
  for (const DTensor* input : inputs) input_specs.push_back(input ? &input->spec() : nullptr);
  for (const auto& output : known.outputs)
    output_specs.push_back(output ? &output->spec() : nullptr);
  if (strategy.local_attributes && !known.local_attributes)
    known.local_attributes = strategy.local_attributes(
        {call.op, pieces, call.attributes, input_specs, output_specs, mask});
  const Attributes& attributes = known.local_attributes ? *known.local_attributes : call.attributes;
  if (!strategy.compute) return simmesh::call(call.op, pieces, attributes);
  return strategy.compute({call.op, pieces, attributes, input_specs, output_specs, mask});
}

std::vector<Tensor> empty_pieces(const PropagatedCall& known) {
  std::vector<Tensor> pieces;
  for (const TensorType& type : known.propagation->output_types)
    pieces.push_back(type.is_defined ? empty({0}, type.dtype) : Tensor());
  return pieces;
}

// Raises for a write that would be lost. All ranks raise alike, since the placements decide.
void check_written(const OpCall& call, const DTensor& written) {
  if (!written.is_copied_view()) return;
  raise(ErrorKind::runtime_error, source,
        "Operator {} can't write {} in place: the view is a copy, since the dim is cut: its tensor "
        "was redistributed first, so that a write wouldn't reach that. Redistribute the tensor "
        "before the view, or clone the view",
        call.op.name, to_string(written.spec()));
}

// True if a redistribution moves elements, or drops some: not where the mesh dims have size one.
bool moves_elements(const DTensorSpec& from, const Sharding& to) {
  if (from.sharding.order != to.order) return true;
  for (std::size_t dim = 0; dim < to.placements.size(); ++dim)
    if (!(from.placements()[dim] == to.placements[dim]) && from.mesh().shape()[dim] > 1)
      return true;
  return false;
}

// True if the call makes a view whose elements aren't those of its input.
bool copies_view(const OpCall& call, const Inputs& given, const Propagation& propagation) {
  if (!call.op.view || !given[0]) return false;
  return given[0]->is_copied_view() || moves_elements(given[0]->spec(), *propagation.inputs[0]);
}

// True if this rank's piece of a view is a copy, since the input's piece has no strides for it.
bool copies_piece(const OpCall& call, const Inputs& used, const std::vector<Tensor>& outputs) {
  if (!call.op.view || !used[0]) return false;
  const StoragePtr& storage = used[0]->local().storage();
  return std::any_of(outputs.begin(), outputs.end(), [&storage](const Tensor& output) {
    if (!output.distribution()) return false;
    const Tensor& piece = DTensor::in(output).local();
    return piece.numel() > 0 && piece.storage() != storage;
  });
}

void mark_copies(std::vector<Tensor>& outputs) {
  for (Tensor& output : outputs)
    if (output.distribution()) output = DTensor::in(output).copied_view().as_tensor();
}

// Makes distributed tensors of the pieces of outputs.
void distribute(std::vector<Tensor>& pieces, const PropagatedCall& known, const Tensor& mask) {
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (known.outputs[i])
      pieces[i] = known.outputs[i]->tensor_with_local(std::move(pieces[i]), mask);
}

bool stays_unrounded(const OpCall& call) {
  const ShardingStrategy* strategy = strategy_of(call.op);
  return strategy && call.inputs.size() <= strategy->stays_unrounded;
}

bool keeps_bits_of(const OpCall& call, const ComputeMode& mode) {
  if (!current_arithmetic(mode).is_exact()) return false;
  return !mode.keeps_unrounded || !stays_unrounded(call);
}

const Tensor no_mask;

std::vector<Tensor> run_on_pieces(const OpCall& call, const Inputs& inputs, PropagatedCall& known,
                                  ComputeMode& mode) {
  const ShardingStrategy& strategy = *known.propagation->strategy;
  Pieces pieces = pieces_of(inputs);
  KeepUnrounded scope(known.has_partial_output || keeps_unrounded(mode), mode);
  if (!strategy.compute && !strategy.local_attributes) {
    std::vector<Tensor> outputs =
        call_known(call.op, {pieces.data(), pieces.size()}, call.attributes, known.local_types);
    distribute(outputs, known, no_mask);
    return outputs;
  }
  Tensor mask;
  std::vector<Tensor> outputs = run_by_strategy(call, inputs, pieces, known, mask);
  distribute(outputs, known, mask);
  return outputs;
}

std::vector<Tensor> outside_the_mesh(const PropagatedCall& known) {
  std::vector<Tensor> outputs = empty_pieces(known);
  distribute(outputs, known, no_mask);
  return outputs;
}

}  // namespace

std::vector<Tensor> dispatch(const OpCall& call) {
  ComputeMode& mode = compute_mode();
  NoGrad scope(mode);
  const ShardingStrategy* strategy = strategy_of(call.op);
  if (strategy && strategy->decomposition) return strategy->decomposition(call);
  const DTensor& first = DTensor::in(first_distributed(call));
  Inputs inputs = distributed_inputs(call, first);
  const DTensor* out = call.out ? &DTensor::in(*call.out) : nullptr;
  if (call.destination == Destination::in_place && call.inputs[0].distribution())
    check_written(call, *inputs[0]);
  if (out) check_written(call, *out);
  PropagatedCall& known = propagated(call, inputs.all(), out, keeps_bits_of(call, mode));
  std::optional<DispatchedOp> seen;
  if (DispatchScope::is_observed()) [[unlikely]]
    seen.emplace(seen_call(call, inputs, known));
  bool is_copied_view = copies_view(call, inputs, *known.propagation);
  if (known.propagation->moves_inputs) bring_inputs(inputs, *known.propagation);
  std::vector<Tensor> outputs = first.spec().groups->is_member()
                                    ? run_on_pieces(call, inputs, known, mode)
                                    : outside_the_mesh(known);
  if (is_copied_view || copies_piece(call, inputs, outputs)) mark_copies(outputs);
  if (seen) [[unlikely]] {
    seen->results = outputs;
    DispatchScope::emit(*seen);
  }
  return outputs;
}

}  // namespace simmesh
