#include "sharding/validate/joined_pieces.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "core/arithmetic/reductions/combine.h"
#include "core/arithmetic/unrounded.h"
#include "core/ops/compute_mode.h"
#include "sharding/placement/norm.h"
#include "sharding/placement/shard_rule.h"
#include "sharding/validate/crafted_pieces.h"

namespace simmesh {

namespace {

template <class T>
bool same_values(const Tensor& a, const Tensor& b) {
  const T* left = a.values<T>().data();
  const T* right = b.values<T>().data();
  for (std::int64_t i = 0; i < a.numel(); ++i)
    if (!(left[i] == right[i]) && !(left[i] != left[i] && right[i] != right[i])) return false;
  return true;
}

// Allows one rounding each for the power, the root and the rank's own norm, which the power
// doubles.
bool is_near(const Tensor& a, const Tensor& b, std::size_t ranks) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype() || a.dtype() != DType::float64) return false;
  double bound = 4.0 * double(ranks) * 0x1p-53;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    double left = a.values<double>()[i], right = b.values<double>()[i];
    if (left != right && !(std::fabs(left - right) <= bound * std::fabs(right))) return false;
  }
  return true;
}

std::string described(const Tensor& got, const Tensor& expected, std::string_view where) {
  std::string text = difference_in_bits(got.contiguous(), expected);
  return fmt::format("{}{}", where, text.empty() ? "the tensors differ" : text);
}

Tensor masked(const Tensor& piece, const Tensor& mask) {
  if (!mask.is_defined() || mask.numel() == 0) return piece;
  Tensor result = piece.contiguous().clone();
  Tensor rows = mask.contiguous();
  std::size_t row_bytes = result.bytes() / std::size_t(rows.numel());
  std::byte* data = result.bytes() == 0 ? nullptr : result.mutable_data();
  for (bool is_masked : rows.values<bool>()) {
    if (is_masked && row_bytes > 0) std::memset(data, 0, row_bytes);
    data += row_bytes;
  }
  return result;
}

// Level joins the pieces along the innermost mesh dim to pieces of the next one.
class Level {
 public:
  Level(gsl::span<const Tensor> pieces, gsl::span<const Tensor> masks, const Placement& placement)
      : pieces_(pieces), masks_(masks), placement_(placement) {}

  // Returns the tensor that the pieces make, or says what is wrong with them.
  std::string join(const Shape& shape, Tensor& out) const {
    if (placement_.is_replicate()) return join_copies(out);
    return placement_.splits() ? join_shards(shape, out) : join_operands(out);
  }

 private:
  std::string join_copies(Tensor& out) const {
    out = pieces_[0];
    for (std::size_t rank = 1; rank < pieces_.size(); ++rank)
      if (!same_elements(pieces_[rank], out))
        return described(pieces_[rank], out.contiguous(),
                         fmt::format("rank {} and rank 0 differ: ", rank));
    return {};
  }

  std::string join_operands(Tensor& out) const {
    std::vector<Tensor> operands(pieces_.begin(), pieces_.end());
    for (std::size_t rank = 0; rank < operands.size(); ++rank) {
      if (operands[rank].shape() != operands[0].shape())
        return fmt::format("rank {} has an operand of shape {}, rank 0 of {}", rank,
                           to_string(DimSpan(operands[rank].shape())),
                           to_string(DimSpan(operands[0].shape())));
      if (rank < masks_.size()) operands[rank] = masked(operands[rank], masks_[rank]);
    }
    bool is_norm = placement_.kind() == Placement::Kind::norm_partial;
    if (is_norm)
      for (Tensor& operand : operands) operand = norm_to_sum(operand, placement_.norm());
    if (!can_craft(Partial(placement_.reduce_op()), operands[0].dtype()))
      return fmt::format("{} isn't defined for {}", to_string(placement_),
                         to_string(operands[0].dtype()));
    out = reduced_pieces(operands, placement_.reduce_op());
    if (is_norm) out = sum_to_norm(out, placement_.norm());
    return {};
  }

  std::string join_shards(const Shape& shape, Tensor& out) const {
    std::int64_t dim = placement_.dim(), members = std::int64_t(pieces_.size());
    if (dim >= std::int64_t(shape.size())) return "there is no such dim to split";
    out = empty(shape, pieces_[0].dtype());
    IndexRuns all;
    append_run(all, {0, shape[std::size_t(dim)]});
    for (std::int64_t rank = 0; rank < members; ++rank) {
      const Tensor& piece = pieces_[std::size_t(rank)];
      IndexRuns runs = take_share(all, placement_, {members, rank});
      Shape expected = shape;
      expected[std::size_t(dim)] = index_count(runs);
      if (piece.shape() != expected)
        return fmt::format("rank {} has a piece of shape {}, expected {}", rank,
                           to_string(DimSpan(piece.shape())), to_string(DimSpan(expected)));
      std::int64_t at = 0;
      for (const IndexRun& run : runs) {
        Tensor target = out.narrow({.dim = dim, .start = run.start, .length = run.length});
        copy_(target, piece.narrow({.dim = dim, .start = at, .length = run.length}));
        at += run.length;
      }
    }
    return {};
  }

  gsl::span<const Tensor> pieces_;
  gsl::span<const Tensor> masks_;
  const Placement& placement_;
};

// Returns the shapes of the pieces that the outer mesh dims leave, row-major.
std::vector<Shape> outer_shapes(const Shape& whole, PlacementSpan placements, DimSpan mesh_shape) {
  std::vector<Shape> shapes = {whole};
  for (std::size_t i = 0; i < placements.size(); ++i) {
    std::vector<Shape> finer;
    for (const Shape& shape : shapes)
      for (std::int64_t index = 0; index < mesh_shape[i]; ++index) {
        finer.push_back(shape);
        std::size_t dim = std::size_t(placements[i].dim());
        if (!placements[i].splits() || dim >= shape.size()) continue;
        IndexRuns all;
        append_run(all, {0, shape[dim]});
        finer.back()[dim] = index_count(take_share(all, placements[i], {mesh_shape[i], index}));
      }
    shapes = std::move(finer);
  }
  return shapes;
}

}  // namespace

bool same_elements(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  if (a.numel() == 0) return true;
  Tensor left = a.contiguous(), right = b.contiguous();
  if (!is_floating_point(a.dtype()))
    return std::memcmp(left.data(), right.data(), left.bytes()) == 0;
  if (a.dtype() == DType::float64) return same_values<double>(left, right);
  if (a.dtype() == DType::float32) return same_values<float>(left, right);
  return same_bits(left, right);
}

Tensor reduced_pieces(gsl::span<const Tensor> pieces, ReduceOp op) {
  bool adds = op == ReduceOp::sum || op == ReduceOp::avg;
  DType dtype = pieces[0].dtype();
  if (adds && keeps_unrounded() && is_floating_point(dtype)) {
    Tensor total = empty(pieces[0].shape(), dtype);
    reduce_unrounded({.op = op, .operands = pieces}, total, true);
    return total;
  }
  Tensor total = pieces[0].contiguous().clone();
  if (total.numel() == 0) return total;
  Combine combine = combine_of(op, dtype);
  for (std::size_t rank = 1; rank < pieces.size(); ++rank) {
    Tensor operand = pieces[rank].contiguous();
    combine(total.mutable_data(), total.data(), operand.data(), total.numel());
  }
  if (op == ReduceOp::avg)
    divide(total.mutable_data(), double(pieces.size()), dtype, total.numel());
  return total;
}

std::string what_differs(const JoinedPieces& joined, const Tensor& whole) {
  std::vector<Tensor> pieces(joined.pieces.begin(), joined.pieces.end());
  std::vector<Tensor> masks(joined.masks.begin(), joined.masks.end());
  bool has_norm = false;
  for (std::size_t level = joined.placements.size(); level-- > 0;) {
    std::size_t members = std::size_t(joined.mesh_shape[level]);
    std::vector<Shape> shapes =
        outer_shapes(whole.shape(), joined.placements.first(level), joined.mesh_shape);
    const Placement& placement = joined.placements[level];
    has_norm |= placement.kind() == Placement::Kind::norm_partial;
    std::vector<Tensor> outer(pieces.size() / members);
    for (std::size_t i = 0; i < outer.size(); ++i) {
      auto own = gsl::span<const Tensor>(pieces).subspan(i * members, members);
      bool has_masks = placement.kind() == Placement::Kind::mask_partial && !masks.empty();
      auto own_masks = has_masks ? gsl::span<const Tensor>(masks).subspan(i * members, members)
                                 : gsl::span<const Tensor>();
      std::string wrong = Level(own, own_masks, placement).join(shapes[i], outer[i]);
      if (!wrong.empty()) return wrong;
    }
    pieces = std::move(outer);
    std::vector<Tensor> outer_masks;
    for (std::size_t i = 0; i < masks.size(); i += members) outer_masks.push_back(masks[i]);
    masks = std::move(outer_masks);
  }
  if (same_elements(pieces[0], whole)) return {};
  if (has_norm && is_near(pieces[0], whole, joined.pieces.size())) return {};
  return described(pieces[0], whole, "");
}

}  // namespace simmesh
