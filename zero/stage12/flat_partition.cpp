#include "zero/stage12/flat_partition.h"

#include <algorithm>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/tensor/convert.h"

namespace simmesh::zero {

FlatPartition::FlatPartition(const std::vector<nn::NamedTensor>& parameters,
                             const std::vector<std::vector<std::size_t>>& groups,
                             const Options& options)
    : places_(parameters.size()) {
  for (const std::vector<std::size_t>& members : groups)
    if (!members.empty()) add_group(parameters, members, options);
}

void FlatPartition::add_group(const std::vector<nn::NamedTensor>& parameters,
                              const std::vector<std::size_t>& members, const Options& options) {
  DType dtype = parameters[members.front()].second.dtype();
  std::vector<std::int64_t> sizes;
  for (std::size_t parameter : members) {
    const auto& [name, tensor] = parameters[parameter];
    if (tensor.dtype() != dtype)
      raise(ErrorKind::value_error, "zero/flat_partition",
            "expected parameters of one dtype in each group of the optimiser, got {} and, for {}, "
            "{}",
            simmesh::to_string(dtype), name, simmesh::to_string(tensor.dtype()));
    sizes.push_back(tensor.numel());
    numel_ += tensor.numel();
  }
  FlatOptions flat = options.layout;
  flat.alignment =
      std::max<std::int64_t>(flat.alignment / std::int64_t(bytes_per_element(dtype)), 1);
  FlatGroup group{.parameters = members, .layout = FlatLayout(sizes, flat), .dtype = dtype};
  Ledger::Uncharged host(options.is_offloaded);
  Ledger::Category category(MemoryCategory::optimizer_state);
  group.master = zeros({group.layout.slice_numel()}, options.master_dtype);
  for (std::size_t i = 0; i < members.size(); ++i)
    places_[members[i]] = {.group = groups_.size(), .index = i};
  for (const FlatPiece& piece : group.layout.pieces(options.rank)) {
    std::size_t parameter = members[piece.parameter];
    Tensor master = group.master.narrow({0, piece.position, piece.count});
    Tensor values = parameters[parameter].second.detach().contiguous();
    Tensor part = values.view(Dims{values.numel()}).narrow({0, piece.first, piece.count});
    copy_(master, converted(part, options.master_dtype));
    set_requires_grad(master, true);
    places_[parameter].piece = pieces_.size();
    group.pieces.push_back(pieces_.size());
    pieces_.push_back({parameter, piece.first, piece.count, master, {}});
  }
  groups_.push_back(std::move(group));
}

OwnedPiece* FlatPartition::piece_of(std::size_t parameter) {
  std::size_t piece = places_[parameter].piece;
  return piece == nowhere ? nullptr : &pieces_[piece];
}

std::vector<FlatSegment> FlatPartition::segments_of(std::size_t parameter) const {
  const Place& place = places_[parameter];
  const FlatLayout& layout = groups_[place.group].layout;
  std::int64_t offset = layout.offset(place.index), size = layout.size(place.index);
  std::vector<FlatSegment> segments;
  for (std::int64_t first = 0; first < size;) {
    std::int64_t owner = (offset + first) / layout.slice_numel();
    std::int64_t end = std::min((owner + 1) * layout.slice_numel() - offset, size);
    segments.push_back({parameter, first, end - first, owner});
    first = end;
  }
  return segments;
}

}  // namespace simmesh::zero
