#include "sharding/paddle/spmd/aligned_inputs.h"

#include <algorithm>
#include <optional>

#include "sharding/placement/placement.h"

namespace simmesh::paddle {

namespace {

bool is_empty(const SpmdTensor& tensor) { return tensor.shape == Shape{0}; }

// Alignment decides the placement of each mesh dim for all tensors at once.
class Alignment {
 public:
  Alignment(const SpmdCall& call, const std::vector<bool>& may_cut)
      : call_(call), may_cut_(may_cut), chosen_(call.mesh_shape.size(), Replicate()) {
    for (const SpmdTensor& tensor : call.tensors(0))
      if (!is_empty(tensor))
        tensors_.push_back({&tensor, to_placements(tensor.attr, call.mesh_shape.size())});
  }

  Placements run() {
    std::size_t mesh_dims = call_.mesh_shape.size();
    std::vector<bool> is_cut(may_cut_.size(), false);
    for (std::size_t mesh_dim = 0; mesh_dim < mesh_dims; ++mesh_dim)
      if (agree(mesh_dim)) keep(mesh_dim, is_cut);
    for (std::size_t mesh_dim = 0; mesh_dim < mesh_dims; ++mesh_dim) {
      if (agree(mesh_dim)) continue;
      std::optional<std::size_t> dim = cheapest_dim(mesh_dim, is_cut);
      if (!dim) continue;
      is_cut[*dim] = true;
      chosen_[mesh_dim] = Shard(std::int64_t(*dim));
    }
    return chosen_;
  }

 private:
  struct Placed {
    const SpmdTensor* tensor;
    Placements placements;
  };

  bool agree(std::size_t mesh_dim) const {
    return std::all_of(tensors_.begin(), tensors_.end(), [&](const Placed& placed) {
      return placed.placements[mesh_dim] == tensors_.front().placements[mesh_dim];
    });
  }

  void keep(std::size_t mesh_dim, std::vector<bool>& is_cut) {
    const Placement& placement = tensors_.front().placements[mesh_dim];
    if (placement.is_shard() && may_cut_[std::size_t(placement.dim())]) {
      is_cut[std::size_t(placement.dim())] = true;
      chosen_[mesh_dim] = placement;
    }
    if (placement.is_plain_partial() &&
        (placement.reduce_op() == ReduceOp::sum || placement.reduce_op() == ReduceOp::avg))
      chosen_[mesh_dim] = placement;
  }

  std::optional<std::size_t> cheapest_dim(std::size_t mesh_dim,
                                          const std::vector<bool>& is_cut) const {
    std::optional<std::size_t> cheapest;
    double least = 0;
    for (std::size_t dim = 0; dim < may_cut_.size(); ++dim) {
      if (!may_cut_[dim] || is_cut[dim]) continue;
      std::optional<double> cost = cost_of(dim, call_.mesh_shape[mesh_dim]);
      if (!cost || (cheapest && *cost >= least)) continue;
      cheapest = dim;
      least = *cost;
    }
    return cheapest;
  }

  std::optional<double> cost_of(std::size_t dim, std::int64_t mesh_size) const {
    double cost = 0;
    for (const Placed& placed : tensors_) {
      if (placed.tensor->shape[dim] < mesh_size) return std::nullopt;
      if (placed.tensor->attr.dims_mapping[dim].empty())
        cost += double(local_elements(placed)) * double(mesh_size);
    }
    return cost;
  }

  // Returns the elements of a piece; where several mesh dims cut one tensor dim the last one
  // counts.
  std::int64_t local_elements(const Placed& placed) const {
    Shape local = placed.tensor->shape;
    for (std::size_t mesh_dim = 0; mesh_dim < placed.placements.size(); ++mesh_dim) {
      const Placement& placement = placed.placements[mesh_dim];
      if (!placement.is_shard()) continue;
      std::size_t dim = std::size_t(placement.dim());
      std::int64_t pieces = call_.mesh_shape[mesh_dim];
      local[dim] = (placed.tensor->shape[dim] + pieces - 1) / pieces;
    }
    return numel(local);
  }

  const SpmdCall& call_;
  const std::vector<bool>& may_cut_;
  std::vector<Placed> tensors_;
  Placements chosen_;
};

}  // namespace

std::vector<DistAttr> aligned_inputs(const SpmdCall& call, const std::vector<bool>& may_cut) {
  const std::vector<SpmdTensor>& tensors = call.tensors(0);
  if (is_empty(tensors[first_nonempty(call)])) {
    std::vector<DistAttr> unchanged;
    for (const SpmdTensor& tensor : tensors) unchanged.push_back(tensor.attr);
    return unchanged;
  }
  for (const SpmdTensor& tensor : tensors)
    if (!is_empty(tensor) && tensor.shape.size() != may_cut.size())
      refuse_argument(call, "expected tensors of {} dims, got {}", may_cut.size(),
                      simmesh::to_string(tensor.shape));
  Placements chosen = Alignment(call, may_cut).run();
  return std::vector<DistAttr>(tensors.size(), to_dist_attr(chosen, may_cut.size()));
}

std::size_t first_nonempty(const SpmdCall& call) {
  const std::vector<SpmdTensor>& tensors = call.tensors(0);
  if (tensors.empty()) refuse_argument(call, "expected a list of tensors, got an empty one");
  auto found = std::find_if_not(tensors.begin(), tensors.end(), is_empty);
  return found == tensors.end() ? 0 : std::size_t(found - tensors.begin());
}

}  // namespace simmesh::paddle
