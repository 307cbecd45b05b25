#include "sharding/rules/rule_values.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/tensor/convert.h"
#include "core/tensor/formula.h"
#include "sharding/validate/crafted_pieces.h"
#include "sharding/validate/joined_pieces.h"

namespace simmesh {

namespace {

Tensor repeated(const Tensor& values, DimSpan shape) {
  Tensor flat = values.contiguous();
  Tensor result = empty(shape, values.dtype());
  std::size_t bytes = result.bytes(), period = flat.bytes();
  if (bytes > 0 && period == 0)
    raise(ErrorKind::value_error, "rules", "expected an input with values to repeat, got none");
  std::byte* out = bytes == 0 ? nullptr : result.mutable_data();
  for (std::size_t i = 0; i < bytes; ++i) out[i] = flat.data()[i % period];
  return result;
}

// Returns the place of a rank in a grid over the partial mesh dims alone.
std::size_t term_of(RankPlace place, PlacementSpan placements, DimSpan mesh) {
  std::size_t term = 0;
  for (std::size_t dim = 0; dim < placements.size(); ++dim)
    if (placements[dim].is_partial())
      term = term * std::size_t(mesh[dim]) + std::size_t(place.of_dim(dim, mesh));
  return term;
}

// Reduces the terms, the innermost partial mesh dim first.
Tensor total_of(std::vector<Tensor> terms, PlacementSpan placements, DimSpan mesh) {
  for (std::size_t dim = placements.size(); dim-- > 0;) {
    if (!placements[dim].is_partial()) continue;
    std::size_t members = std::size_t(mesh[dim]);
    std::vector<Tensor> outer;
    for (std::size_t i = 0; i < terms.size(); i += members)
      outer.push_back(reduced_pieces(gsl::span<const Tensor>(terms).subspan(i, members),
                                     placements[dim].reduce_op()));
    terms = std::move(outer);
  }
  return terms[0];
}

}  // namespace

Tensor RuleDraw::drawn(DimSpan shape, std::int64_t most, double scale, DType dtype) {
  Tensor wide = empty(shape, DType::float64);
  std::uint64_t stream = seed_ * 4096 + count_++, element = 0;
  for (double& value : wide.mutable_values<double>()) {
    std::uint64_t word = formula_word(stream, element++) >> 16;
    value = double(std::int64_t(word % std::uint64_t(2 * most + 1)) - most) * scale;
  }
  return converted(wide, dtype);
}

Tensor RuleDraw::draw(DimSpan shape, DType dtype) {
  return values_ == RuleValues::any ? drawn(shape, (1 << 23) - 1, 0x1p-22, dtype)
                                    : drawn(shape, 4, 1.0, dtype);
}

Tensor RuleDraw::draw_term(DimSpan shape, std::int64_t terms, DType dtype) {
  double scale = values_ == RuleValues::any ? 0x1p-8 : 1.0;
  return drawn(shape, 512, double(terms) * scale, dtype);
}

std::int64_t RankPlace::of_dim(std::size_t mesh_dim, DimSpan mesh) const {
  std::int64_t below = 1;
  for (std::size_t dim = mesh_dim + 1; dim < mesh.size(); ++dim) below *= mesh[dim];
  return rank / below % mesh[mesh_dim];
}

Tensor piece_at(const Tensor& whole, PlacementSpan placements, DimSpan mesh, RankPlace place) {
  Tensor piece = whole;
  for (std::size_t dim = 0; dim < placements.size(); ++dim) {
    if (!placements[dim].splits()) continue;
    if (placements[dim].dim() >= whole.dim())
      raise(ErrorKind::index_error, "rules", "expected a dim below {} to cut, got {}", whole.dim(),
            to_string(placements[dim]));
    piece = piece_of(piece, placements[dim], {mesh[dim], place.of_dim(dim, mesh)});
  }
  return piece;
}

RuleOperand draw_operand(const RuleInput& input, const Shape& shape, PlacementSpan placements,
                         DimSpan mesh, RuleDraw& draw) {
  std::int64_t count = 1;
  for (std::size_t dim = 0; dim < placements.size(); ++dim)
    if (placements[dim].is_partial()) count *= mesh[dim];
  std::vector<Tensor> terms;
  for (std::int64_t term = 0; term < count; ++term)
    terms.push_back(input.values.is_defined() ? repeated(input.values, shape)
                    : count > 1               ? draw.draw_term(shape, count, draw.dtype())
                                              : draw.draw(shape, draw.dtype()));
  RuleOperand operand;
  operand.whole = total_of(terms, placements, mesh);
  for (std::int64_t rank = 0; rank < numel(mesh); ++rank)
    operand.pieces.push_back(
        piece_at(terms[term_of({rank}, placements, mesh)], placements, mesh, {rank}));
  return operand;
}

}  // namespace simmesh
