#include "sharding/validate/local_run.h"

#include "core/ops/call.h"
#include "core/ops/compute_mode.h"

namespace simmesh {

namespace {

std::vector<std::optional<Placements>> lists_of(const StrategyRow::Entries& entries) {
  std::vector<std::optional<Placements>> lists;
  for (const auto& entry : entries)
    lists.push_back(entry ? std::optional(Placements{*entry}) : std::nullopt);
  return lists;
}

bool any_partial(const std::vector<std::optional<Placements>>& lists) {
  for (const auto& placements : lists)
    if (placements)
      for (const Placement& one : *placements)
        if (one.is_partial()) return true;
  return false;
}

}  // namespace

WholeCall whole_call(const Op& op, const ShardingStrategy& strategy, Attributes attributes,
                     std::vector<Tensor> inputs) {
  WholeCall call{.op = op,
                 .strategy = strategy,
                 .attributes = std::move(attributes),
                 .inputs = std::move(inputs),
                 .outputs = {},
                 .input_types = {},
                 .output_types = {}};
  for (const Tensor& input : call.inputs)
    call.input_types.push_back(input.is_defined() ? type_of(input)
                                                  : TensorType{{}, DType::float32, false});
  call.output_types = infer_types(op, call.input_types, call.attributes);
  call.outputs = simmesh::call(op, call.inputs, call.attributes);
  for (Tensor& output : call.outputs)
    if (output.is_defined()) output = output.contiguous();
  return call;
}

MeshPlacements along_one_dim(const StrategyRow& rule) {
  return {lists_of(rule.inputs), lists_of(rule.outputs)};
}

LocalSpecs::LocalSpecs(const WholeCall& call, const MeshPlacements& placements,
                       const std::shared_ptr<MeshGroups>& groups) {
  auto add = [&](const std::vector<std::optional<Placements>>& lists, const TensorTypes& types,
                 std::vector<const DTensorSpec*>& specs) {
    specs.resize(types.size());
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (i >= lists.size() || !lists[i] || !types[i].is_defined) continue;
      held_.push_back(std::make_unique<DTensorSpec>(
          DTensorSpec{groups, {*lists[i], {}}, types[i].shape, types[i].dtype}));
      specs[i] = held_.back().get();
    }
  };
  add(placements.inputs, call.input_types, inputs_);
  add(placements.outputs, call.output_types, outputs_);
}

LocalRun::LocalRun(Dims mesh_shape) : mesh_shape_(std::move(mesh_shape)) {
  std::int64_t ranks = numel(mesh_shape_);
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    groups_.push_back(std::make_shared<MeshGroups>(
        DeviceMesh::init({.rank = rank, .world_size = ranks}, mesh_shape_)));
}

// Copies no tensor, since most calls are known.
void LocalRun::look_up(const WholeCall& call, gsl::span<const std::vector<Tensor>* const> pieces,
                       KnownResults& known, LocalOutputs& result) const {
  KnownResults::Operands own(pieces.size());
  for (std::size_t rank = 0; rank < groups_.size(); ++rank) {
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i] = pieces[i]->empty() ? nullptr : &(*pieces[i])[rank];
    result.of_rank.push_back(known.call(call.op, own, call.attributes));
  }
}

LocalOutputs LocalRun::run(const WholeCall& call,
                           gsl::span<const std::vector<Tensor>* const> pieces,
                           const MeshPlacements& placements, KnownResults* known) const {
  const ShardingStrategy& strategy = call.strategy;
  auto call_op = [&](gsl::span<const Tensor> inputs, const Attributes& attributes) {
    return known ? known->call(call.op, inputs, attributes)
                 : SharedOutputs(simmesh::call(call.op, inputs, attributes));
  };
  KeepUnrounded scope(keeps_unrounded() || any_partial(placements.outputs));
  LocalOutputs result;
  result.of_rank.reserve(groups_.size());
  if (known && !strategy.compute && !strategy.local_attributes) {
    look_up(call, pieces, *known, result);
    return result;
  }
  boost::container::small_vector<Tensor, 4> own(pieces.size());
  for (std::size_t rank = 0; rank < groups_.size(); ++rank) {
    for (std::size_t i = 0; i < pieces.size(); ++i)
      own[i] = pieces[i]->empty() ? Tensor() : (*pieces[i])[rank];
    if (!strategy.compute && !strategy.local_attributes) {
      result.of_rank.push_back(call_op(own, call.attributes));
      continue;
    }
    LocalSpecs specs(call, placements, groups_[rank]);
    Tensor mask;
    Attributes attributes = call.attributes;
    if (strategy.local_attributes)
      attributes = strategy.local_attributes(
          {call.op, own, call.attributes, specs.inputs(), specs.outputs(), mask});
    result.of_rank.push_back(
        strategy.compute ? SharedOutputs(strategy.compute(
                               {call.op, own, attributes, specs.inputs(), specs.outputs(), mask}))
                         : call_op(own, attributes));
    result.masks.push_back(mask);
    result.attributes.push_back(std::move(attributes));
  }
  return result;
}

}  // namespace simmesh
