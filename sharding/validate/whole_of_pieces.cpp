#include "sharding/validate/whole_of_pieces.h"

#include <algorithm>
#include <deque>

#include "sharding/placement/shard_rule.h"
#include "sharding/validate/crafted_pieces.h"
#include "sharding/validate/known_results.h"

namespace simmesh {

namespace {

using DimRuns = boost::container::small_vector<IndexRuns, 4>;

// Part compares a contiguous piece with the elements of a contiguous whole at some indices of each
// dim.
template <class T>
class Part {
 public:
  Part(const T* piece, const T* whole, DimSpan shape, const DimRuns& runs)
      : piece_(piece), whole_(whole), shape_(shape), runs_(runs) {
    // Below the last dim that is cut, rows are whole.
    while (cut_ > 0 && runs[cut_ - 1].size() == 1 && runs[cut_ - 1][0].length == shape_[cut_ - 1])
      row_ *= shape_[--cut_];
  }

  // Advances through the piece.
  bool is_same(std::size_t dim = 0, std::int64_t row = 0) {
    if (dim == cut_) return are_same(row, 1);
    for (const IndexRun& run : runs_[dim]) {
      std::int64_t first = row * shape_[dim] + run.start;
      if (dim + 1 == cut_) {
        if (!are_same(first, run.length)) return false;
        continue;
      }
      for (std::int64_t i = 0; i < run.length; ++i)
        if (!is_same(dim + 1, first + i)) return false;
    }
    return true;
  }

 private:
  bool are_same(std::int64_t first_row, std::int64_t rows) {
    const T* expected = whole_ + first_row * row_;
    const T* end = piece_ + rows * row_;
    for (; piece_ != end; ++piece_, ++expected) {
      if (*piece_ == *expected) continue;
      if (*piece_ == *piece_ || *expected == *expected) return false;  // but NaNs are equal
    }
    return true;
  }

  const T* piece_;
  const T* whole_;
  DimSpan shape_;
  const DimRuns& runs_;
  std::size_t cut_ = shape_.size();  // dims before this one are walked
  std::int64_t row_ = 1;             // elements
};

template <class T>
bool is_part(const Tensor& piece, const Tensor& whole, const DimRuns& runs) {
  return Part<T>(reinterpret_cast<const T*>(piece.data()), reinterpret_cast<const T*>(whole.data()),
                 whole.shape(), runs)
      .is_same();
}

bool is_part_of(const Tensor& given, const Tensor& whole, const DimRuns& runs) {
  if (given.dtype() != whole.dtype() || given.dim() != whole.dim()) return false;
  for (std::size_t dim = 0; dim < runs.size(); ++dim)
    if (given.shape()[dim] != index_count(runs[dim])) return false;
  if (given.numel() == 0) return true;
  Tensor piece = given.contiguous();
  switch (whole.dtype()) {
    case DType::float64: return is_part<double>(piece, whole, runs);
    case DType::float32: return is_part<float>(piece, whole, runs);
    case DType::int64: return is_part<std::int64_t>(piece, whole, runs);
    case DType::int32: return is_part<std::int32_t>(piece, whole, runs);
    case DType::boolean: return is_part<std::uint8_t>(piece, whole, runs);
    default: return false;
  }
}

bool can_be_compared(const JoinedPieces& joined, const Tensor& whole) {
  for (std::size_t i = 0; i < joined.placements.size(); ++i) {
    const Placement& one = joined.placements[i];
    if (one.is_replicate()) continue;
    if (one.is_plain_partial() ? !can_craft(one, whole.dtype())
                               : !one.splits() || one.dim() >= whole.dim())
      return false;
    if (one.is_ragged_shard() && (joined.placements.size() > 1 || !can_lie(type_of(whole), one)))
      return false;
  }
  return whole.is_contiguous();
}

// Grid lists pieces row-major over mesh dims.
struct Grid {
  boost::container::small_vector<const Tensor*, 8> pieces;
  boost::container::small_vector<Placement, 4> placements;
  boost::container::small_vector<std::int64_t, 4> sizes;
  std::deque<Tensor> reduced;  // those of the pieces that nobody else holds
};

void drop_level(Grid& grid, std::size_t level) {
  grid.placements.erase(grid.placements.begin() + std::ptrdiff_t(level));
  grid.sizes.erase(grid.sizes.begin() + std::ptrdiff_t(level));
}

// Reduces along one mesh dim and drops it. False where operands differ in shape.
bool reduce_along(Grid& grid, std::size_t level, KnownResults* known) {
  std::size_t members = std::size_t(grid.sizes[level]), inner = 1;
  for (std::size_t i = level + 1; i < grid.sizes.size(); ++i) inner *= std::size_t(grid.sizes[i]);
  decltype(grid.pieces) reduced;
  boost::container::small_vector<Tensor, 8> operands(members);
  ReduceOp op = grid.placements[level].reduce_op();
  for (std::size_t outer = 0; outer * members * inner < grid.pieces.size(); ++outer)
    for (std::size_t place = 0; place < inner; ++place) {
      for (std::size_t rank = 0; rank < members; ++rank) {
        operands[rank] = *grid.pieces[(outer * members + rank) * inner + place];
        if (operands[rank].shape() != operands[0].shape() ||
            operands[rank].dtype() != operands[0].dtype())
          return false;
      }
      gsl::span<const Tensor> line(operands.data(), operands.size());
      reduced.push_back(known ? &known->reduced(line, op)
                              : &grid.reduced.emplace_back(reduced_pieces(line, op)));
    }
  grid.pieces = std::move(reduced);
  drop_level(grid, level);
  return true;
}

// Drops a mesh dim whose pieces are copies. False where copies differ.
bool drop_copies(Grid& grid, std::size_t level) {
  std::size_t members = std::size_t(grid.sizes[level]), inner = 1;
  for (std::size_t i = level + 1; i < grid.sizes.size(); ++i) inner *= std::size_t(grid.sizes[i]);
  decltype(grid.pieces) first;
  for (std::size_t i = 0; i < grid.pieces.size(); ++i) {
    std::size_t rank = i / inner % members;
    if (rank == 0)
      first.push_back(grid.pieces[i]);
    else if (!same_elements(*grid.pieces[i], *grid.pieces[i - rank * inner]))
      return false;
  }
  grid.pieces = std::move(first);
  drop_level(grid, level);
  return true;
}

// Reduces over partial placements, innermost first. Copies inside of them must be equal before they
// are added up.
bool reduce(Grid& grid, KnownResults* known) {
  for (std::size_t level = grid.placements.size(); level-- > 0;) {
    bool is_partial = grid.placements[level].is_partial();
    bool is_copied = grid.placements[level].is_replicate();
    bool is_inside =
        std::any_of(grid.placements.begin(), grid.placements.begin() + std::ptrdiff_t(level),
                    [](const Placement& outer) { return outer.is_partial(); });
    if (is_partial && !reduce_along(grid, level, known)) return false;
    if (is_copied && is_inside && !drop_copies(grid, level)) return false;
  }
  return true;
}

// Returns the indices of the whole that a rank of the grid holds, dim by dim.
DimRuns runs_of_rank(const Grid& grid, std::size_t rank, const Shape& shape) {
  DimRuns runs(shape.size());
  for (std::size_t dim = 0; dim < shape.size(); ++dim) append_run(runs[dim], {0, shape[dim]});
  std::size_t below = grid.pieces.size();
  for (std::size_t level = 0; level < grid.sizes.size(); ++level) {
    below /= std::size_t(grid.sizes[level]);
    std::int64_t index = std::int64_t(rank / below) % grid.sizes[level];
    const Placement& placement = grid.placements[level];
    if (!placement.splits()) continue;
    IndexRuns& own = runs[std::size_t(placement.dim())];
    own = take_share(own, placement, {grid.sizes[level], index});
  }
  return runs;
}

}  // namespace

bool make_whole(const JoinedPieces& joined, const Tensor& whole) {
  if (!can_be_compared(joined, whole)) return false;
  Grid grid;
  for (const Tensor& piece : joined.pieces) {
    if (!piece.is_defined()) return false;
    grid.pieces.push_back(&piece);
  }
  grid.placements.assign(joined.placements.begin(), joined.placements.end());
  grid.sizes.assign(joined.mesh_shape.begin(), joined.mesh_shape.end());
  if (!reduce(grid, joined.known)) return false;
  for (std::size_t rank = 0; rank < grid.pieces.size(); ++rank)
    if (!is_part_of(*grid.pieces[rank], whole, runs_of_rank(grid, rank, whole.shape())))
      return false;
  return true;
}

}  // namespace simmesh
