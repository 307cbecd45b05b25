#pragma once

#include "sharding/rules/rule_options.h"

namespace simmesh {

// RuleDraw draws the values of trials. Equal seeds draw equal values.
class RuleDraw {
 public:
  RuleDraw(RuleValues values, std::uint64_t seed) : values_(values), seed_(seed) {}

  // draw returns numbers of a floating dtype: of 24 bits within [-2, 2), or whole ones within
  // [-4, 4].
  Tensor draw(DimSpan shape, DType dtype);
  // draw_term returns one of several terms whose sum and mean are numbers of the dtype, exactly.
  Tensor draw_term(DimSpan shape, std::int64_t terms, DType dtype);
  // dtype is the dtype of drawn inputs: float32 for any numbers, float64 for whole ones.
  DType dtype() const { return values_ == RuleValues::any ? DType::float32 : DType::float64; }

 private:
  // Returns whole numbers within [-most, most] over a divisor.
  Tensor drawn(DimSpan shape, std::int64_t most, double scale, DType dtype);

  RuleValues values_;
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

// RuleOperand is an input of a trial: the whole tensor, and each rank's piece, row-major.
struct RuleOperand {
  Tensor whole;
  std::vector<Tensor> pieces;
};
// draw_operand draws an input with one placement a mesh dim: a term for each place along partial
// mesh dims, which the other mesh dims cut. Raises an IndexError for a dim that the input doesn't
// have.
RuleOperand draw_operand(const RuleInput& input, const Shape& shape, PlacementSpan placements,
                         DimSpan mesh, RuleDraw& draw);

// RankPlace is a rank of a mesh.
struct RankPlace {
  std::int64_t rank = 0;
  std::int64_t of_dim(std::size_t mesh_dim, DimSpan mesh) const;
};
// piece_at returns the part of a tensor that a rank holds; partial placements cut nothing.
Tensor piece_at(const Tensor& whole, PlacementSpan placements, DimSpan mesh, RankPlace place);

}  // namespace simmesh
