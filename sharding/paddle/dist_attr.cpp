#include "sharding/paddle/dist_attr.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::paddle {

namespace {

constexpr std::string_view dist_attr_place = "sharding/paddle";

}  // namespace

std::string_view to_word(ReduceOp op) {
  if (op == ReduceOp::bor) return "any";
  if (op == ReduceOp::band) return "all";
  return to_string(op);
}

ReduceOp reduce_op_from_word(std::string_view word) {
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max, ReduceOp::product,
                      ReduceOp::bor, ReduceOp::band})
    if (to_word(op) == word) return op;
  raise(ErrorKind::value_error, dist_attr_place,
        "expected sum, avg, min, max, product, any or all, got '{}'", word);
}

Placement parse_placement(std::string_view text) {
  if (text.starts_with("P(") && text.ends_with(")"))
    return Partial(reduce_op_from_word(text.substr(2, text.size() - 3)));
  Placement placement = simmesh::parse_placement(text);
  if (!placement.is_replicate() && !placement.is_shard())
    raise(ErrorKind::value_error, dist_attr_place, "expected R, S(dim) or P(reduction), got '{}'",
          text);
  return placement;
}

std::string to_word(const Placement& placement) {
  return placement.is_plain_partial() ? fmt::format("P({})", to_word(placement.reduce_op()))
                                      : to_string(placement);
}

DistAttr DistAttr::replicated(std::size_t tensor_dims) {
  return {.dims_mapping = std::vector<Dims>(tensor_dims), .partial_status = {}};
}

std::string to_string(const DistAttr& attr) {
  std::vector<std::string> cuts, partial;
  for (const Dims& mesh_dims : attr.dims_mapping)
    cuts.push_back(fmt::format("[{}]", join_text(mesh_dims, ",")));
  for (const auto& [mesh_dim, op] : attr.partial_status)
    partial.push_back(fmt::format("{}: {}", mesh_dim, to_word(op)));
  std::string text = fmt::format("[{}]", join_text(cuts, ","));
  return partial.empty() ? text : fmt::format("{} partial {{{}}}", text, join_text(partial, ", "));
}

DistAttr to_dist_attr(PlacementSpan placements, std::size_t tensor_dims) {
  DistAttr attr = DistAttr::replicated(tensor_dims);
  for (std::size_t mesh_dim = 0; mesh_dim < placements.size(); ++mesh_dim) {
    const Placement& placement = placements[mesh_dim];
    if (placement.is_plain_partial()) {
      attr.partial_status.emplace(mesh_dim, placement.reduce_op());
    } else if (!placement.is_replicate()) {
      std::int64_t dim = placement.dim();
      if (dim < 0) dim += std::int64_t(tensor_dims);
      if (!placement.is_shard() || dim < 0 || dim >= std::int64_t(tensor_dims))
        raise(ErrorKind::value_error, dist_attr_place,
              "expected R, S(dim) of {} dims or P(reduction), got {}", tensor_dims,
              to_string(placement));
      attr.dims_mapping[std::size_t(dim)].push_back(std::int64_t(mesh_dim));
    }
  }
  return attr;
}

Placements to_placements(const DistAttr& attr, std::size_t mesh_dims) {
  Placements placements(mesh_dims, Replicate());
  for (std::size_t dim = 0; dim < attr.dims_mapping.size(); ++dim)
    for (std::int64_t mesh_dim : attr.dims_mapping[dim])
      placements[std::size_t(mesh_dim)] = Shard(std::int64_t(dim));
  for (const auto& [mesh_dim, op] : attr.partial_status)
    placements[std::size_t(mesh_dim)] = Partial(op);
  return placements;
}

void require_valid(const DistAttr& attr, std::size_t tensor_dims, std::size_t mesh_dims,
                   std::string_view place) {
  if (attr.dims_mapping.size() != tensor_dims)
    raise(ErrorKind::value_error, place, "expected mesh dims for each of {} tensor dims, got {}",
          tensor_dims, to_string(attr));
  std::vector<bool> is_used(mesh_dims, false);
  auto use = [&](std::int64_t mesh_dim) {
    if (mesh_dim < 0 || mesh_dim >= std::int64_t(mesh_dims))
      raise(ErrorKind::value_error, place, "expected mesh dims below {}, got {}", mesh_dims,
            to_string(attr));
    if (is_used[std::size_t(mesh_dim)])
      raise(ErrorKind::value_error, place, "expected each mesh dim once, got {}", to_string(attr));
    is_used[std::size_t(mesh_dim)] = true;
  };
  for (const Dims& cuts : attr.dims_mapping) std::for_each(cuts.begin(), cuts.end(), use);
  for (const auto& [mesh_dim, op] : attr.partial_status) use(mesh_dim);
}

}  // namespace simmesh::paddle
