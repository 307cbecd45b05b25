#include "sharding/strategies/view_placements.h"

#include <algorithm>
#include <numeric>

#include "core/check/error.h"

namespace simmesh {

namespace {

constexpr std::string_view view_source = "sharding/view";

// The size of a dim that differs between ranks.
constexpr std::int64_t varies = -1;

Dims sizes_of(const Dims& dims, const Shape& shape) {
  Dims sizes;
  for (std::int64_t dim : dims) sizes.push_back(shape[std::size_t(dim)]);
  return sizes;
}

bool divides(std::int64_t parts, std::int64_t size) {
  return size != varies && parts > 0 && size % parts == 0;
}

// Returns the size in a piece of a dim whose chunks, `factor` of them, are each cut into so many
// parts.
std::int64_t cut_size(std::int64_t size, std::int64_t parts, std::int64_t factor = 1) {
  return divides(parts * factor, size) ? size / parts : varies;
}

// FirstCut is the first dim of a group that a plain shard cuts, by its place among the dims of the
// input, and the number of parts into which the first mesh dim cuts it.
struct FirstCut {
  std::size_t at = 0;
  std::int64_t parts = 1;
};

FirstCut first_cut(const DimGroup& group, const MeshRequest& request) {
  const Placements& given = *request.given[0];
  for (std::size_t at = 0; at < group.from.size(); ++at)
    for (std::size_t mesh_dim = 0; mesh_dim < given.size(); ++mesh_dim)
      if (given[mesh_dim].is_shard() && given[mesh_dim].dim() == group.from[at])
        return {at, request.mesh_shape[mesh_dim]};
  return {};
}

// GroupOnMesh follows the shards of one group of dims over the mesh dims.
class GroupOnMesh {
 public:
  GroupOnMesh(const DimGroup& group, const ViewCall& view, const MeshRequest& request)
      : group_(group),
        is_strict_(view.is_strict),
        held_(sizes_of(group.from, view.from)),
        seen_(sizes_of(group.to, view.to)),
        first_part_(seen_.empty() ? 0 : seen_[0]),
        first_cut_(first_cut(group, request)) {}

  const DimGroup& group() const { return group_; }

  // output_of returns the placement in the output of the shard of a mesh dim of that size; empty
  // where the shard must be gathered.
  std::optional<Placement> output_of(const Placement& shard, std::int64_t parts) {
    if (group_.to.empty()) return std::nullopt;
    if (shard.is_ragged_shard()) return ragged(shard);
    if (group_.stays()) return shard.with_dim(group_.to[0]);
    std::size_t at = std::size_t(std::find(group_.from.begin(), group_.from.end(), shard.dim()) -
                                 group_.from.begin());
    return shard.is_shard() ? plain(at, parts) : strided(at, shard.split_factor(), parts);
  }

 private:
  std::optional<Placement> ragged(const Placement& shard) {
    if (group_.from[0] != 0 || shard.dim() != 0 || group_.to[0] != 0) return std::nullopt;
    DimSpan units = shard.units();
    std::int64_t count = std::accumulate(units.begin(), units.end(), std::int64_t(0));
    if (!divides(count, held_[0]) || !divides(count, seen_[0])) return std::nullopt;
    held_[0] = seen_[0] = varies;
    return shard;
  }

  std::optional<Placement> plain(std::size_t at, std::int64_t parts) {
    bool is_last = at + 1 == held_.size();
    if (!is_last && !divides(parts, held_[at])) return uneven_merge(at, parts);
    if (group_.is_cut_anew() && at > 0) {
      bool is_uneven = first_cut_.at == at && !divides(first_cut_.parts, first_part_);
      return is_uneven ? uneven_parts(first_cut_.parts) : std::nullopt;
    }
    if (at == 0) return group_.to.size() == 1 ? merged(0, 1, parts) : plain_part(parts);
    return merged(at, 1, parts);
  }

  // Handles a shard, strided or not, of one of several dims that are merged into one. PyTorch's
  // rule that isn't strict gathers all but the first of them.
  std::optional<Placement> merged(std::size_t at, std::int64_t factor, std::int64_t parts) {
    if (!is_strict_ && at > 0) return std::nullopt;
    std::optional<std::int64_t> rows = rows_before(at);
    if (!rows) return std::nullopt;
    held_[at] = cut_size(held_[at], parts, factor);
    bool is_plain = at == 0 && factor == 1;
    return is_plain ? Shard(group_.to[0]) : StridedShard(group_.to[0], *rows * factor);
  }

  // Cuts the first part, or the next one where earlier mesh dims have cut it up.
  std::optional<Placement> plain_part(std::int64_t parts) {
    std::size_t part = 0;
    while (part + 1 < seen_.size() && seen_[part] == 1) ++part;
    if (!divides(parts, first_part_) || !divides(parts, seen_[part]))
      return first_part_ == seen_[0] ? uneven_parts(parts) : cut_again(parts);
    held_[0] = cut_size(held_[0], parts);
    seen_[part] /= parts;
    return Shard(group_.to[part]);
  }

  std::optional<Placement> strided(std::size_t at, std::int64_t factor, std::int64_t parts) {
    bool is_last = at + 1 == held_.size();
    if (!divides(factor, held_[at]) || (!is_last && !divides(factor * parts, held_[at])))
      return std::nullopt;
    if (group_.to.size() == 1) return merged(at, factor, parts);
    std::optional<std::int64_t> rows = rows_before(at);
    if (!rows) return std::nullopt;
    std::optional<Placement> output = strided_part(*rows * factor, parts);
    if (output) held_[at] = cut_size(held_[at], parts, factor);
    if (output || group_.is_cut_anew()) return output;
    return refused(
        "Cannot unflatten tensor with _StridedShard placement: split_factor={} does not match any "
        "output dimension of sizes {}. Please redistribute the tensor before this operation.",
        factor, to_string(DimSpan(seen_)));
  }

  // Finds the part of which the chunks that the shard cuts are rows, or groups of rows.
  std::optional<Placement> strided_part(std::int64_t factor, std::int64_t parts) {
    std::int64_t rows = 1;
    for (std::size_t part = 0; part < seen_.size(); ++part) {
      std::int64_t size = seen_[part];
      bool is_last = part + 1 == seen_.size();
      if (size == varies) return std::nullopt;
      if (factor >= rows * size && !is_last) {
        rows *= size;
        continue;
      }
      std::int64_t inner = factor / rows;
      if (factor % rows != 0 || !divides(inner, size)) return std::nullopt;
      if (!is_last && !divides(inner * parts, size)) return std::nullopt;
      seen_[part] = cut_size(size, parts, inner);
      return inner == 1 ? Shard(group_.to[part]) : StridedShard(group_.to[part], inner);
    }
    return std::nullopt;
  }

  std::optional<std::int64_t> rows_before(std::size_t at) const {
    std::int64_t rows = 1;
    for (std::size_t i = 0; i < at; ++i) {
      if (held_[i] == varies) return std::nullopt;
      rows *= held_[i];
    }
    return rows;
  }

  std::optional<Placement> uneven_parts(std::int64_t parts) const {
    return refused(
        "Cannot unflatten unevenly sharded tensor: output dimension {} (size {}) is not evenly "
        "divisible by a mesh dimension of size {}. Please redistribute the tensor before this "
        "operation.",
        group_.to[0], seen_[0], parts);
  }

  std::optional<Placement> cut_again(std::int64_t parts) const {
    return refused(
        "This operation would reshape a dimension that several mesh dimensions shard, which "
        "requires redistribution: expected a size that a mesh dimension of size {} divides, got "
        "{}. Please redistribute the input first.",
        parts, first_part_);
  }

  std::optional<Placement> uneven_merge(std::size_t at, std::int64_t parts) const {
    return refused(
        "Cannot flatten unevenly sharded tensor: dimension {} (size {}) is not evenly divisible by "
        "a mesh dimension of size {}. Please redistribute the tensor before this operation.",
        group_.from[at], held_[at], parts);
  }

  template <class... Values>
  std::optional<Placement> refused(fmt::format_string<Values...> text, Values&&... values) const {
    if (is_strict_)
      raise(ErrorKind::runtime_error, view_source, text, std::forward<Values>(values)...);
    return std::nullopt;
  }

  const DimGroup& group_;
  bool is_strict_;
  Dims held_;  // sizes of the dims of the input in the remaining piece; varies where they differ
  Dims seen_;  // and those of the output
  std::int64_t first_part_;  // of the output, before anything was cut
  FirstCut first_cut_;
};

// True if some mesh dims split a dim of the input in an order other than ascending.
bool has_own_order(const MeshRequest& request, std::int64_t dim) {
  return !request.shardings.empty() && request.shardings[0] &&
         request.shardings[0]->order.entry(dim) != nullptr;
}

}  // namespace

MeshCandidate viewed_placements(const MeshRequest& request, const ViewCall& view) {
  std::vector<GroupOnMesh> groups;
  for (const DimGroup& group : view.map) groups.emplace_back(group, view, request);
  Placements inputs, outputs;
  for (std::size_t mesh_dim = 0; mesh_dim < request.mesh_shape.size(); ++mesh_dim) {
    Placement input = (*request.given[0])[mesh_dim];
    std::optional<Placement> output = input;
    if (input.kind() == Placement::Kind::mask_partial) output.reset();
    if (input.splits()) {
      std::int64_t dim = input.dim();
      auto found = std::find_if(groups.begin(), groups.end(), [dim](const GroupOnMesh& one) {
        const Dims& from = one.group().from;
        return std::find(from.begin(), from.end(), dim) != from.end();
      });
      if (found == groups.end() && view.is_strict)
        raise(ErrorKind::runtime_error, view_source,
              "This operation would remove or reshape sharded dimension {}, which requires "
              "redistribution, got {} for a view of {} as {}. Please redistribute the input first.",
              dim, to_string(PlacementSpan(*request.given[0])), to_string(DimSpan(view.from)),
              to_string(DimSpan(view.to)));
      bool is_lost =
          found == groups.end() || (has_own_order(request, dim) && !found->group().stays());
      output = is_lost ? std::nullopt : found->output_of(input, request.mesh_shape[mesh_dim]);
    }
    inputs.push_back(output ? input : Replicate());
    outputs.push_back(output.value_or(Replicate()));
  }
  return {{std::move(inputs)}, {std::move(outputs)}};
}

}  // namespace simmesh
