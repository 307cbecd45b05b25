#pragma once

#include <boost/container/small_vector.hpp>
#include <compare>
#include <cstdint>
#include <functional>
#include <gsl/span>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/arithmetic/reductions/reduce_op.h"
#include "core/tensor/shape.h"

namespace simmesh {

// Placement is the part of a logical tensor that each rank along one mesh dim holds. A sharding is
// a list with one placement a mesh dim, outermost first; each entry splits (or copies) the piece
// that the entries before it left.
//
//   Placements list = {Shard(0), Replicate()};
//   to_string(list);                      // "S(0),R"
//   list == parse_placements("S(0),R");   // true
//   list[0].is_shard(0);                  // true
//
// A value of 32 bytes; only RaggedShard and MaskPartial refer to shared (immutable) memory.
class Placement {
 public:
  // Kind names what a rank holds along the mesh dim.
  enum class Kind : std::uint8_t {
    replicate,      // R: every rank holds all of it
    shard,          // S(d): a contiguous chunk of tensor dim d
    strided_shard,  // _S(d,sf): d is cut into sf chunks, the rank holds its chunk of each
    partial,        // P(op): every rank holds an operand of the reduction
    mask_partial,   // MaskP(op,[..],d): a partial look-up in a table that is cut along its dim d; a
                    // rank's rows count only where its mask says so
    norm_partial,   // NormP(p): a partial p-norm
    ragged_shard,   // Ragged([..]): dim 0 is cut into units, each rank holds its own number of them
  };

  Placement() = default;  // Replicate

  Kind kind() const { return kind_; }
  bool is_replicate() const { return kind_ == Kind::replicate; }
  // is_shard is true for Shard only, not for the strided and ragged kinds.
  bool is_shard() const { return kind_ == Kind::shard; }
  bool is_shard(std::int64_t tensor_dim) const { return is_shard() && dim_ == tensor_dim; }
  bool is_strided_shard() const { return kind_ == Kind::strided_shard; }
  bool is_ragged_shard() const { return kind_ == Kind::ragged_shard; }
  // splits is true for every kind of shard; splits(d) where it splits tensor dim d.
  bool splits() const { return is_shard() || is_strided_shard() || is_ragged_shard(); }
  bool splits(std::int64_t tensor_dim) const { return splits() && dim_ == tensor_dim; }
  // is_partial is true for Partial, MaskPartial and NormPartial, as in PyTorch.
  bool is_partial() const { return !is_replicate() && !splits(); }
  // is_plain_partial is true for Partial only.
  bool is_plain_partial() const { return kind_ == Kind::partial; }

  // dim is the tensor dim that a shard splits; may be negative until it is normalised.
  std::int64_t dim() const { return dim_; }
  // split_factor is the one of a strided shard, and 1 for Shard.
  std::int64_t split_factor() const { return is_strided_shard() ? number_ : 1; }
  // reduce_op is the op that reduces a partial placement: sum, min or max for NormPartial.
  ReduceOp reduce_op() const { return op_; }
  // norm is the exponent p of a NormPartial.
  double norm() const;
  // units is the number of units each rank holds, for a RaggedShard; empty otherwise.
  DimSpan units() const;
  // table_shape is the shape of the table in which a MaskPartial looks up, and table_dim the dim
  // along which the table is cut; empty and 0 where they aren't known.
  DimSpan table_shape() const;
  std::int64_t table_dim() const;
  // with_dim returns the same kind of shard on another tensor dim.
  Placement with_dim(std::int64_t tensor_dim) const;

  friend bool operator==(const Placement& left, const Placement& right);
  // The order is by kind, then by the numbers; it means nothing and is the same everywhere.
  friend std::strong_ordering operator<=>(const Placement& left, const Placement& right);

  friend Placement Shard(std::int64_t tensor_dim);
  friend Placement StridedShard(std::int64_t tensor_dim, std::int64_t split_factor);
  friend Placement Partial(ReduceOp op);
  friend Placement MaskPartial(ReduceOp op, DimSpan table_shape, std::int64_t table_dim);
  friend Placement NormPartial(double p);
  friend Placement RaggedShard(std::vector<std::int64_t> units);

 private:
  Kind kind_ = Kind::replicate;
  ReduceOp op_ = ReduceOp::sum;
  std::int32_t dim_ = 0;
  std::int64_t number_ = 0;  // split factor, or the bits of the norm's exponent
  std::shared_ptr<const std::vector<std::int64_t>> units_;  // or the sizes of the table
};

// The factories have PyTorch's names. Shard takes a tensor dim in [-32, 31]; the others say what
// they refuse.
inline Placement Replicate() { return {}; }
Placement Shard(std::int64_t tensor_dim);
// StridedShard raises a ValueError where split_factor is below 1.
Placement StridedShard(std::int64_t tensor_dim, std::int64_t split_factor);
// Partial raises a ValueError for premul_sum, which has no partial form.
Placement Partial(ReduceOp op = ReduceOp::sum);
// MaskPartial is a look-up in a table of that shape, cut along a dim; without them in any table.
// Raises a ValueError for a reduction other than a sum and for a dim that the table doesn't have.
Placement MaskPartial(ReduceOp op = ReduceOp::sum, DimSpan table_shape = {},
                      std::int64_t table_dim = 0);
// NormPartial raises a ValueError where p is not a number.
Placement NormPartial(double p);
// RaggedShard gives units[i] units of tensor dim 0 to rank i. Raises a ValueError where a count is
// negative.
Placement RaggedShard(std::vector<std::int64_t> units);

// Placements has one entry per mesh dim, outermost first.
using Placements = boost::container::small_vector<Placement, 4>;
using PlacementSpan = gsl::span<const Placement>;

// to_string returns "R", "S(0)", "_S(0,2)", "P(sum)", "MaskP", "MaskP(sum,[8,4],0)", "NormP(2)" or
// "Ragged([1,0,2])".
std::string to_string(const Placement& placement);

// to_string joins a list with commas: "S(0),R".
std::string to_string(PlacementSpan placements);

// parse_placement reads one placement as to_string writes it; spaces are allowed around it and its
// arguments. Raises a ValueError that shows the text.
Placement parse_placement(std::string_view text);

// parse_placements reads a list as to_string writes it. Commas inside brackets don't separate. An
// empty text is an empty list. Raises a ValueError that shows the whole text and the entry at
// fault.
Placements parse_placements(std::string_view text);

// normalized returns the list with tensor dims counted from the front. Raises an IndexError where a
// dim is outside a tensor of `tensor_dims` dims, and an AssertionError where a tensor without dims
// is to be split.
Placements normalized(PlacementSpan placements, std::int64_t tensor_dims);

// has_partial is true if any placement of a list is partial.
bool has_partial(PlacementSpan placements);

// embeds_shard is true if a step between two placements embeds a plain shard in zeros: S(d) to
// P(sum). Release 2.15 can do so.
bool embeds_shard(const Placement& from, const Placement& to);

// hash_value depends on the value only and is the same in every process.
std::size_t hash_value(const Placement& placement);

}  // namespace simmesh

template <>
struct std::hash<simmesh::Placement> {
  std::size_t operator()(const simmesh::Placement& placement) const {
    return simmesh::hash_value(placement);
  }
};
