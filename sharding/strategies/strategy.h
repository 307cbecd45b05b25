#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <gsl/span>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "core/ops/op.h"
#include "sharding/placement/dtensor_spec.h"

namespace simmesh {

// StrategyRow is one way in which an op runs on pieces along one mesh dim: if the inputs have the
// placements of the row, running the op on each rank's pieces gives outputs with the placements of
// the row. Every op runs on replicated inputs; that needs no row.
//
//   rule({Shard(0), Shard(0)}, Shard(0))                  // rows travel with their factors
//   rule({Shard(1), Shard(0)}, Partial(ReduceOp::sum))    // a contraction
//
// A Shard in a row stands for each kind of shard that the inputs of a call have: plain, strided by
// some factor, or ragged.
struct StrategyRow {
  // One entry an input or output; empty where a tensor has no placement: an absent optional input,
  // or an output that is masked off.
  using Entries = boost::container::small_vector<std::optional<Placement>, 4>;

  Entries inputs;
  Entries outputs;
  // The cost of a row besides the redistributions of its inputs; a row with a negative cost is
  // preferred to rows that move nothing.
  double cost_us = 0.0;
  // True if the row exists with plain shards even where no input has a shard.
  bool splits_anew = false;
};
using StrategyRows = std::vector<StrategyRow>;

// rule returns a row.
inline StrategyRow rule(StrategyRow::Entries inputs, StrategyRow::Entries outputs) {
  return {std::move(inputs), std::move(outputs)};
}
inline StrategyRow rule(StrategyRow::Entries inputs, const Placement& output) {
  return {std::move(inputs), {output}};
}

// splitting_rule returns a row with plain shards that exists even where no input has a shard.
inline StrategyRow splitting_rule(StrategyRow::Entries inputs, const Placement& output) {
  return {std::move(inputs), {output}, 0.0, true};
}

// adds_up is true for a partial sum or average.
bool adds_up(const Placement& placement);

// StrategyRequest is the part of a call that a rule sees: its tensors as logical ones, and its
// other arguments. Absent optional inputs are not defined.
struct StrategyRequest {
  gsl::span<const TensorType> inputs;
  gsl::span<const TensorType> outputs;
  const Attributes& attributes;
};

namespace attribute {
// of_list marks a call that is made for one element of a list of tensors, by a function that takes
// such lists.
inline constexpr Attribute<bool> of_list{"of_list"};
// passes_partial marks a sum that takes partial sums as they are.
inline constexpr Attribute<bool> passes_partial{"passes_partial"};
}  // namespace attribute

// RowRule returns the rows of an op along one mesh dim. Of two rows with the same cost for a call
// the first is taken; of rows that cost nothing and move nothing the last, except for an element of
// a list.
using RowRule = std::function<StrategyRows(const StrategyRequest& request)>;

// MeshCandidate is one way in which an op runs on pieces, over all mesh dims; empty for tensors
// without placements.
struct MeshCandidate {
  std::vector<std::optional<Placements>> inputs;
  std::vector<std::optional<Placements>> outputs;
  double cost_us = 0.0;  // besides the redistributions
};

// MeshRequest is a call with the placements of its inputs.
struct MeshRequest {
  StrategyRequest call;
  gsl::span<const std::optional<Placements>> given;
  DimSpan mesh_shape;
  // The same placements with the orders of their shards; empty where all are ascending.
  gsl::span<const std::optional<Sharding>> shardings = {};
};

// MeshRule returns the candidates of an op whose mesh dims depend on one another, such as a view.
// It raises for what it refuses.
using MeshRule = std::function<std::vector<MeshCandidate>(const MeshRequest& request)>;

// CandidateFilter is true if a candidate that the rows give holds over all mesh dims together.
using CandidateFilter =
    std::function<bool(const MeshRequest& request, const MeshCandidate& candidate)>;

// LocalCall is the call that a rank runs: the op on its pieces. Specs of tensors without placements
// are null.
struct LocalCall {
  const Op& op;
  gsl::span<const Tensor> inputs;  // the rank's pieces
  const Attributes& attributes;    // for the pieces, see LocalAttributes
  gsl::span<const DTensorSpec* const> input_specs;
  gsl::span<const DTensorSpec* const> output_specs;
  // For an output that is a MaskPartial: the mask of the rows that the rank doesn't hold.
  Tensor& mask;
};

// LocalAttributes returns the arguments with which the op runs on a rank's pieces, where they
// differ from those of the call: mostly sizes.
using LocalAttributes = std::function<Attributes(const LocalCall& call)>;
// LocalComputation runs an op on a rank's pieces, where a plain call isn't enough.
using LocalComputation = std::function<std::vector<Tensor>(const LocalCall& call)>;
// Decomposition runs an op as other ops, on distributed tensors.
using Decomposition = std::function<std::vector<Tensor>(const OpCall& call)>;

// ShardingStrategy is how an op runs on distributed tensors. Without rows, over_mesh and
// decomposition it runs on replicated tensors only.
struct ShardingStrategy {
  RowRule rows = {};
  MeshRule over_mesh = {};           // instead of rows
  Decomposition decomposition = {};  // instead of both
  CandidateFilter filter = {};       // of candidates made of rows
  // True if inputs with a row's placements may stay although a dim is shorter than the number of
  // ranks that split it, so that some ranks hold nothing.
  bool accepts_short_dims = false;
  // True if the op takes a list of tensors. For tensors on different meshes PyTorch refuses such an
  // op as a redistribution between meshes that isn't implemented, and other ops as a mistake.
  bool takes_list = false;
  LocalAttributes local_attributes = {};
  LocalComputation compute = {};
  // Inputs, by position, that the op adds to its result without rounding in between: in exact
  // arithmetic a replicated one may become partial.
  std::uint32_t addends = 0;
  // True if PyTorch has no strategy for the op and derives one from its decomposition: see
  // derived_rows.
  bool is_derived = false;
  // True if the op computes nothing and only brings its inputs to one of its rows, so that other
  // valid rows don't count as missing.
  bool only_aligns = false;

  // The number of tensors up to which the op, in a scope of KeepUnrounded, uses the unrounded sums
  // of its inputs. Any other call reads their elements, and a partial sum is rounded only when it
  // is added up.
  std::size_t stays_unrounded = 0;

  bool adds_unrounded(std::size_t input) const { return (addends >> input & 1) != 0; }
};

// going_on returns the strategy of an op that uses unrounded sums, with at most so many tensors.
ShardingStrategy going_on(ShardingStrategy strategy, std::size_t tensors_max = 1000);

// strategy returns the strategy of a user's op.
//
//   .strategy = strategy({rule({Shard(0), Shard(0)}, Shard(0))})
std::shared_ptr<const ShardingStrategy> strategy(StrategyRows rows);
std::shared_ptr<const ShardingStrategy> strategy(ShardingStrategy value);

}  // namespace simmesh
