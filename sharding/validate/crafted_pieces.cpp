#include "sharding/validate/crafted_pieces.h"

#include <algorithm>
#include <cmath>

#include "core/check/check.h"
#include "core/tensor/convert.h"
#include "core/tensor/formula.h"
#include "sharding/placement/shard_rule.h"

namespace simmesh {

namespace {

// Draw gives each element of each rank random numbers of its own.
class Draw {
 public:
  Draw(std::uint64_t seed, std::size_t element, std::int64_t ranks)
      : seed_(seed), base_(element * 64), ranks_(ranks) {}

  std::int64_t below(std::int64_t count, std::int64_t stream) const {
    return std::int64_t((formula_word(seed_, base_ + std::uint64_t(stream)) >> 24) %
                        std::uint64_t(count));
  }
  // owner returns the rank that holds the element; the others only add to it.
  std::int64_t owner() const { return below(ranks_, 63); }
  std::int64_t ranks() const { return ranks_; }

 private:
  std::uint64_t seed_, base_;
  std::int64_t ranks_;
};

template <class T>
T unit_of(gsl::span<const T> values) {
  for (T unit : {T(2520) * T(2520), T(2520)})
    if (std::all_of(values.data(), values.data() + values.size(),
                    [unit](T value) { return T(std::int64_t(value / unit)) * unit == value; }))
      return unit;
  return T(1);
}

template <class T>
void craft_sum(T value, T unit, bool averages, const Draw& draw, gsl::span<T> out) {
  T rest = averages ? T(0) : value;
  std::int64_t owner = draw.owner();
  for (std::int64_t rank = 0; rank < draw.ranks(); ++rank) {
    if (rank == owner) continue;
    T part = T(draw.below(17, rank) - 8) * unit;
    // Operands have fractions, so that an op which rounds them isn't taken for linear.
    if (std::is_floating_point_v<T> && unit == T(1)) part += T(draw.below(4, rank + 16)) / 4;
    rest -= part;
    out[std::size_t(rank)] = averages ? value + part : part;
  }
  out[std::size_t(owner)] = averages ? value + rest : rest;
}

template <class T>
void craft_extreme(T value, T sign, const Draw& draw, gsl::span<T> out) {
  std::int64_t owner = draw.owner();
  for (std::int64_t rank = 0; rank < draw.ranks(); ++rank)
    out[std::size_t(rank)] = rank == owner ? value : value - sign * T(1 + draw.below(19, rank));
}

template <class T>
void craft_product(T value, const Draw& draw, gsl::span<T> out) {
  std::int64_t owner = draw.owner();
  T rest = value;
  for (std::int64_t rank = 0; rank < draw.ranks(); ++rank) {
    if (rank == owner) continue;
    T factor = draw.below(2, rank) ? T(-1) : T(1);
    if constexpr (std::is_floating_point_v<T>)
      factor *= std::ldexp(T(1), int(draw.below(5, rank + 8)) - 2);
    else if (rest % 2 == 0 && draw.below(2, rank + 8))
      factor *= 2;
    rest /= factor;
    out[std::size_t(rank)] = factor;
  }
  out[std::size_t(owner)] = rest;
}

// Some bits of a random word are added to (or taken from) each rank, each bit not on all ranks.
void craft_bits(std::int64_t value, ReduceOp op, const Draw& draw, gsl::span<std::int64_t> out) {
  std::int64_t common = op == ReduceOp::bxor ? 0 : -1, mixed = 0, owner = draw.owner();
  for (std::int64_t rank = 0; rank < draw.ranks(); ++rank) {
    std::int64_t noise = draw.below(256, rank);
    common &= noise;
    out[std::size_t(rank)] = noise;
    mixed ^= noise;
  }
  for (std::int64_t rank = 0; rank < draw.ranks(); ++rank) {
    std::int64_t& piece = out[std::size_t(rank)];
    if (op == ReduceOp::bxor) {
      if (rank == owner) piece ^= mixed ^ value;
      continue;
    }
    if (rank == owner) piece &= ~common;
    piece = op == ReduceOp::band ? value | piece : value & ~piece;
  }
}

template <class T>
void craft_number(T value, T unit, ReduceOp op, const Draw& draw, gsl::span<T> out) {
  switch (op) {
    case ReduceOp::avg:
    case ReduceOp::sum: return craft_sum(value, unit, op == ReduceOp::avg, draw, out);
    case ReduceOp::max: return craft_extreme(value, T(1), draw, out);
    case ReduceOp::min: return craft_extreme(value, T(-1), draw, out);
    case ReduceOp::product: return craft_product(value, draw, out);
    default: break;
  }
  if constexpr (std::is_same_v<T, std::int64_t>) return craft_bits(value, op, draw, out);
  SIMMESH_CHECK(false, "no operands of {} for floating elements", to_string(op));
}

void craft_truth(bool value, ReduceOp op, const Draw& draw, gsl::span<bool> out) {
  bool is_any = op == ReduceOp::sum || op == ReduceOp::max || op == ReduceOp::bor;
  bool is_exclusive = op == ReduceOp::bxor;
  bool mixed = false;
  std::int64_t owner = draw.owner();
  for (std::int64_t rank = 0; rank < draw.ranks(); ++rank) {
    bool noise = draw.below(2, rank) != 0;
    // Adds noise that decides nothing: true for "all" of a true element, false for "any" of a false
    // one.
    bool piece = is_exclusive ? noise : is_any ? value && noise : value || noise;
    if (rank == owner && !is_exclusive) piece = value;
    mixed ^= piece;
    out[std::size_t(rank)] = piece;
  }
  if (is_exclusive && mixed != value) {
    bool& of_owner = out[std::size_t(owner)];
    of_owner = !of_owner;
  }
}

template <class T>
std::vector<Tensor> operands(const Tensor& whole, ReduceOp op, std::int64_t ranks,
                             std::uint64_t seed) {
  std::vector<Tensor> pieces;
  std::vector<T*> data;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    pieces.push_back(empty(whole.shape(), whole.dtype()));
    data.push_back(pieces.back().mutable_values<T>().data());
  }
  auto values = whole.values<T>();
  T unit = T(1);
  if constexpr (!std::is_same_v<T, bool>) unit = unit_of<T>(values);
  std::array<T, 64> out;
  auto of_ranks = gsl::span<T>(out.data(), std::size_t(ranks));
  std::size_t element = 0;
  for (T value : values) {
    Draw draw(seed, element, ranks);
    if constexpr (std::is_same_v<T, bool>)
      craft_truth(value, op, draw, of_ranks);
    else
      craft_number<T>(value, unit, op, draw, of_ranks);
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) data[rank][element] = out[rank];
    ++element;
  }
  return pieces;
}

std::vector<Tensor> partial_pieces(const Tensor& whole, ReduceOp op, std::int64_t ranks,
                                   std::uint64_t seed) {
  if (whole.dtype() == DType::boolean) return operands<bool>(whole, op, ranks, seed);
  DType wide = is_floating_point(whole.dtype()) ? DType::float64 : DType::int64;
  Tensor values = converted(whole, wide);
  std::vector<Tensor> pieces = wide == DType::float64
                                   ? operands<double>(values, op, ranks, seed)
                                   : operands<std::int64_t>(values, op, ranks, seed);
  for (Tensor& piece : pieces) piece = converted(piece, whole.dtype());
  return pieces;
}

}  // namespace

Tensor piece_of(const Tensor& whole, const Placement& split, RankOf rank) {
  std::int64_t dim = split.dim();
  IndexRuns all;
  append_run(all, {0, whole.size(dim)});
  IndexRuns runs = take_share(all, split, {rank.members, rank.index});
  if (runs.size() == 1)
    return whole.narrow({.dim = dim, .start = runs[0].start, .length = runs[0].length})
        .contiguous();
  Shape shape = whole.shape();
  shape[std::size_t(dim)] = index_count(runs);
  Tensor piece = empty(shape, whole.dtype());
  std::int64_t at = 0;
  for (const IndexRun& run : runs) {
    Tensor target = piece.narrow({.dim = dim, .start = at, .length = run.length});
    copy_(target, whole.narrow({.dim = dim, .start = run.start, .length = run.length}));
    at += run.length;
  }
  return piece;
}

bool can_craft(const Placement& placement, DType dtype) {
  if (!placement.is_partial()) return true;
  if (!placement.is_plain_partial()) return false;
  switch (placement.reduce_op()) {
    case ReduceOp::avg: return is_floating_point(dtype);
    case ReduceOp::band:
    case ReduceOp::bor:
    case ReduceOp::bxor: return !is_floating_point(dtype);
    default: return true;
  }
}

bool can_lie(const TensorType& type, const Placement& placement) {
  if (!placement.is_ragged_shard()) return true;
  std::int64_t units = 0;
  for (std::int64_t count : placement.units()) units += count;
  return type.is_defined && !type.shape.empty() && units > 0 && type.shape[0] % units == 0;
}

Placement ragged_candidate(std::int64_t ranks) {
  std::vector<std::int64_t> units(std::size_t(ranks), 1);
  units.front() = 0;
  return RaggedShard(units);
}

std::uint64_t seed_along(std::uint64_t seed, std::size_t piece, std::size_t mesh_dim) {
  return seed * 131 + piece * 17 + mesh_dim;
}

std::vector<Tensor> pieces_along(const Tensor& whole, const Placement& placement,
                                 std::int64_t members, std::uint64_t seed) {
  if (placement.is_replicate()) return std::vector<Tensor>(std::size_t(members), whole);
  if (placement.is_partial()) return partial_pieces(whole, placement.reduce_op(), members, seed);
  std::vector<Tensor> pieces;
  for (std::int64_t index = 0; index < members; ++index)
    pieces.push_back(piece_of(whole, placement, {members, index}));
  return pieces;
}

std::vector<Tensor> craft_pieces(const Tensor& whole, PlacementSpan placements, DimSpan mesh_shape,
                                 std::uint64_t seed) {
  std::vector<Tensor> pieces = {whole};
  for (std::size_t dim = 0; dim < placements.size(); ++dim) {
    std::vector<Tensor> finer;
    for (std::size_t i = 0; i < pieces.size(); ++i)
      for (Tensor& piece :
           pieces_along(pieces[i], placements[dim], mesh_shape[dim], seed_along(seed, i, dim)))
        finer.push_back(std::move(piece));
    pieces = std::move(finer);
  }
  return pieces;
}

}  // namespace simmesh
