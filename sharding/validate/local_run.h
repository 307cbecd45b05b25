#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sharding/placement/dtensor_spec.h"
#include "sharding/strategies/strategy.h"
#include "sharding/validate/known_results.h"

namespace simmesh {

// WholeCall is a call of an op on whole tensors, with the strategy whose rules are judged on it.
struct WholeCall {
  const Op& op;
  const ShardingStrategy& strategy;
  Attributes attributes;
  std::vector<Tensor> inputs;   // absent ones undefined
  std::vector<Tensor> outputs;  // as the op on whole tensors returns them
  TensorTypes input_types;
  TensorTypes output_types;

  StrategyRequest request() const { return {input_types, output_types, attributes}; }
};

// whole_call runs an op on whole tensors. Raises the errors of the op.
WholeCall whole_call(const Op& op, const ShardingStrategy& strategy, Attributes attributes,
                     std::vector<Tensor> inputs);

// MeshPlacements has the placements of each input and of each output over all mesh dims, nothing
// for tensors without placements.
struct MeshPlacements {
  std::vector<std::optional<Placements>> inputs;
  std::vector<std::optional<Placements>> outputs;
};
// along_one_dim returns the placements of a rule on a mesh of one dim.
MeshPlacements along_one_dim(const StrategyRow& rule);

// LocalSpecs are the specs of a call's tensors, as a rank sees them; null for tensors without
// placements.
class LocalSpecs {
 public:
  LocalSpecs(const WholeCall& call, const MeshPlacements& placements,
             const std::shared_ptr<MeshGroups>& groups);

  const std::vector<const DTensorSpec*>& inputs() const { return inputs_; }
  const std::vector<const DTensorSpec*>& outputs() const { return outputs_; }

 private:
  std::vector<std::unique_ptr<DTensorSpec>> held_;
  std::vector<const DTensorSpec*> inputs_, outputs_;
};

// LocalOutputs are the results of the ranks of a call, rank by rank.
struct LocalOutputs {
  std::vector<SharedOutputs> of_rank;
  std::vector<Tensor> masks;           // undefined where no output is a MaskPartial
  std::vector<Attributes> attributes;  // with which each rank called the op
};

// LocalRun runs a call on the pieces of every rank of a mesh, one rank after another, without a
// World: by the strategy's own computation and arguments where it has them.
class LocalRun {
 public:
  explicit LocalRun(Dims mesh_shape);

  const Dims& mesh_shape() const { return mesh_shape_; }
  std::size_t ranks() const { return groups_.size(); }

  // run computes the outputs of all ranks; pieces[i] are those of input i. Raises the errors of the
  // ranks. Calls of the op are looked up in the known results, if these are given; a strategy's own
  // computation runs on each rank.
  LocalOutputs run(const WholeCall& call, gsl::span<const std::vector<Tensor>* const> pieces,
                   const MeshPlacements& placements, KnownResults* known = nullptr) const;

 private:
  void look_up(const WholeCall& call, gsl::span<const std::vector<Tensor>* const> pieces,
               KnownResults& known, LocalOutputs& result) const;

  Dims mesh_shape_;
  std::vector<std::shared_ptr<MeshGroups>> groups_;  // as each rank sees the mesh
};

}  // namespace simmesh
