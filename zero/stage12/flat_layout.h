#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

namespace simmesh::zero {

// FlatOptions set the order of a group's parameters in a flat buffer.
struct FlatOptions {
  std::int64_t ranks = 1;
  // round_robin_gradients: every ranks-th parameter, from the first one on, then every ranks-th
  // from the second one on, and so on.
  bool round_robin = false;
  // parameter_alignment: each parameter starts at a multiple of so many elements; 1 without.
  std::int64_t alignment = 1;
};

// FlatPiece is a part of a parameter in the slice of a rank: `count` elements of parameter number
// `parameter` from its element `first` on, at `position` in the slice.
struct FlatPiece {
  std::size_t parameter = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t position = 0;
};

// FlatLayout is how stages 1 and 2 of ZeRO partition the parameters of an optimiser's group: they
// are in one flat buffer, whose length is a multiple of twice the number of ranks, and each rank
// owns a slice of it. A slice may begin and end inside of a parameter.
//
//   std::vector<std::int64_t> sizes = {5, 9, 7, 1};
//   zero::FlatLayout layout(sizes, {.ranks = 2});    // 22 elements and 2 of padding; slices of 12
//   layout.pieces(1)[0];                       // parameter 1, elements 7 and 8, at 0
class FlatLayout {
 public:
  // Sizes count elements. Raises a ValueError for less than one rank or an alignment below 1.
  FlatLayout(gsl::span<const std::int64_t> sizes, const FlatOptions& options);

  // order is the order of the parameters in the buffer, as indices.
  const std::vector<std::size_t>& order() const { return order_; }
  // offset returns where a parameter begins in the buffer.
  std::int64_t offset(std::size_t parameter) const { return offsets_[parameter]; }
  std::int64_t size(std::size_t parameter) const { return sizes_[parameter]; }

  std::int64_t flat_numel() const { return slice_numel_ * ranks_; }
  std::int64_t slice_numel() const { return slice_numel_; }
  // padding returns the number of elements of a rank's slice beyond the last parameter.
  std::int64_t padding(std::int64_t rank) const;
  // pieces returns the parts of parameters in a rank's slice, in their order.
  std::vector<FlatPiece> pieces(std::int64_t rank) const;

 private:
  std::vector<std::int64_t> sizes_;
  std::int64_t ranks_;
  std::vector<std::size_t> order_;
  std::vector<std::int64_t> offsets_;  // by parameter
  std::int64_t end_ = 0;               // of the last parameter
  std::int64_t slice_numel_ = 0;
};

}  // namespace simmesh::zero
