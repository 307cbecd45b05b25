#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "zero/stage12/flat_layout.h"

namespace simmesh::zero {

// OwnedPiece is a part of a parameter that this rank owns: `count` elements from `first` on.
struct OwnedPiece {
  std::size_t parameter = 0;  // its index in the module's parameters
  std::int64_t first = 0;
  std::int64_t count = 0;
  Tensor master;    // [count], a view of the group's slice
  Tensor gradient;  // [count]; undefined where nothing was added since it was dropped
};

// FlatGroup is a group of the optimiser in a flat buffer, of which this rank has a slice.
struct FlatGroup {
  std::vector<std::size_t> parameters;  // indices in the module's parameters
  FlatLayout layout;
  DType dtype = DType::float32;
  Tensor master;                    // [slice_numel]
  std::vector<std::size_t> pieces;  // indices in FlatPartition::pieces
};

// FlatSegment is a part of a parameter that one rank owns.
struct FlatSegment {
  std::size_t parameter = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t owner = 0;
};

// FlatPartition is how stages 1 and 2 of ZeRO divide masters and gradients: each group of the
// optimiser has a FlatLayout, and each rank owns a slice of it. Parameters themselves stay whole.
class FlatPartition {
 public:
  struct Options {
    std::int64_t rank = 0;
    FlatOptions layout;  // alignment counts bytes here
    // Masters are in the host's memory.
    bool is_offloaded = false;
    DType master_dtype = DType::float32;
  };

  // Groups hold indices of parameters; all of a group have one dtype, else a ValueError names one.
  FlatPartition(const std::vector<nn::NamedTensor>& parameters,
                const std::vector<std::vector<std::size_t>>& groups, const Options& options);

  std::vector<FlatGroup>& groups() { return groups_; }
  const std::vector<FlatGroup>& groups() const { return groups_; }
  std::vector<OwnedPiece>& pieces() { return pieces_; }
  const std::vector<OwnedPiece>& pieces() const { return pieces_; }
  // piece_of returns this rank's piece of a parameter, null if it has none.
  OwnedPiece* piece_of(std::size_t parameter);
  // has is true if a parameter is in any group.
  bool has(std::size_t parameter) const { return places_[parameter].group != nowhere; }
  // segments_of returns the parts of a parameter in the order of their owners.
  std::vector<FlatSegment> segments_of(std::size_t parameter) const;
  std::int64_t numel() const { return numel_; }

 private:
  static constexpr std::size_t nowhere = std::size_t(-1);
  struct Place {
    std::size_t group = nowhere;
    std::size_t index = 0;  // in the group
    std::size_t piece = nowhere;
  };

  void add_group(const std::vector<nn::NamedTensor>& parameters,
                 const std::vector<std::size_t>& members, const Options& options);

  std::vector<FlatGroup> groups_;
  std::vector<OwnedPiece> pieces_;
  std::vector<Place> places_;  // by parameter
  std::int64_t numel_ = 0;     // of all parameters in groups
};

}  // namespace simmesh::zero
