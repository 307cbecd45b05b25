#include "sharding/placement/local_shape.h"

#include <algorithm>

#include "core/check/error.h"

namespace simmesh {
namespace {

constexpr std::string_view local_shape_source = "sharding/local_shape";

void check_coordinate(DimSpan coordinate, DimSpan mesh_shape) {
  bool inside = coordinate.size() == mesh_shape.size();
  for (std::size_t dim = 0; inside && dim < mesh_shape.size(); ++dim)
    inside = coordinate[dim] >= 0 && coordinate[dim] < mesh_shape[dim];
  if (!inside)
    raise(ErrorKind::value_error, local_shape_source,
          "expected a coordinate inside the mesh {}, got {}", to_string(mesh_shape),
          to_string(coordinate));
}

// for_each_split calls visit(mesh_dim) for the mesh dims that split tensor_dim, in order of
// application.
template <class Visit>
void for_each_split(std::int64_t tensor_dim, PlacementSpan placements, const ShardOrder& order,
                    Visit visit) {
  if (const Dims* mesh_dims = order.entry(tensor_dim)) {
    for (std::int64_t mesh_dim : *mesh_dims) visit(mesh_dim);
    return;
  }
  for (std::size_t mesh_dim = 0; mesh_dim < placements.size(); ++mesh_dim)
    if (placements[mesh_dim].splits(tensor_dim)) visit(static_cast<std::int64_t>(mesh_dim));
}

bool plain(std::int64_t tensor_dim, PlacementSpan placements) {
  return std::none_of(placements.begin(), placements.end(), [&](const Placement& placement) {
    return placement.splits(tensor_dim) && !placement.is_shard();
  });
}

// plain_run returns the piece where only Shard splits the dim: one run, found in constant time a
// mesh dim.
IndexRun plain_run(std::int64_t size, std::int64_t tensor_dim, DimSpan mesh_shape,
                   DimSpan coordinate, PlacementSpan placements, const ShardOrder& order) {
  IndexRun run{0, size};
  for_each_split(tensor_dim, placements, order, [&](std::int64_t mesh_dim) {
    const IndexRun part =
        chunk(run.length, {.members = mesh_shape[mesh_dim], .index = coordinate[mesh_dim]});
    run = {run.start + part.start, part.length};
  });
  return run;
}

IndexRuns general_runs(std::int64_t size, std::int64_t tensor_dim, DimSpan mesh_shape,
                       DimSpan coordinate, PlacementSpan placements, const ShardOrder& order) {
  IndexRuns runs;
  append_run(runs, {0, size});
  for_each_split(tensor_dim, placements, order, [&](std::int64_t mesh_dim) {
    runs = take_share(runs, placements[mesh_dim],
                      {.members = mesh_shape[mesh_dim], .index = coordinate[mesh_dim]});
  });
  return runs;
}

IndexRuns unchecked_runs(std::int64_t size, std::int64_t tensor_dim, DimSpan mesh_shape,
                         DimSpan coordinate, PlacementSpan placements, const ShardOrder& order) {
  if (!plain(tensor_dim, placements))
    return general_runs(size, tensor_dim, mesh_shape, coordinate, placements, order);
  IndexRuns runs;
  append_run(runs, plain_run(size, tensor_dim, mesh_shape, coordinate, placements, order));
  return runs;
}

// same_in_dim compares the pieces of one tensor dim at every coordinate of the mesh dims that split
// it.
bool same_in_dim(std::int64_t size, std::int64_t tensor_dim, DimSpan mesh_shape,
                 const Sharding& left, const Sharding& right, bool by_count) {
  Dims sizes(mesh_shape.size(), 1);
  bool equal = left.order.mesh_dims(tensor_dim, left.placements) ==
               right.order.mesh_dims(tensor_dim, right.placements);
  for (std::size_t mesh_dim = 0; mesh_dim < sizes.size(); ++mesh_dim) {
    const Placement& from = left.placements[mesh_dim];
    const Placement& to = right.placements[mesh_dim];
    if (!from.splits(tensor_dim) && !to.splits(tensor_dim)) continue;
    sizes[mesh_dim] = mesh_shape[mesh_dim];
    equal &= from == to;
  }
  if (equal) return true;
  Dims coordinate(sizes.size(), 0);
  do {
    const auto runs_of = [&](const Sharding& sharding) {
      return unchecked_runs(size, tensor_dim, mesh_shape, coordinate, sharding.placements,
                            sharding.order);
    };
    const IndexRuns from = runs_of(left), to = runs_of(right);
    if (by_count ? index_count(from) != index_count(to) : from != to) return false;
  } while (next_index(coordinate, sizes));
  return true;
}

}  // namespace

LocalShape compute_local_shape_and_global_offset(DimSpan global_shape, DimSpan mesh_shape,
                                                 DimSpan coordinate, PlacementSpan placements,
                                                 const ShardOrder& order) {
  check_sharding(placements, global_shape, mesh_shape);
  check_coordinate(coordinate, mesh_shape);
  LocalShape local{Shape(global_shape.begin(), global_shape.end()), Dims(global_shape.size(), 0)};
  for (std::size_t dim = 0; dim < global_shape.size(); ++dim) {
    const auto tensor_dim = static_cast<std::int64_t>(dim);
    const std::int64_t size = global_shape[dim];
    if (plain(tensor_dim, placements)) {
      const IndexRun run = plain_run(size, tensor_dim, mesh_shape, coordinate, placements, order);
      local.shape[dim] = run.length;
      local.offset[dim] = run.length > 0 ? run.start : size;
      continue;
    }
    const IndexRuns runs =
        general_runs(size, tensor_dim, mesh_shape, coordinate, placements, order);
    local.shape[dim] = index_count(runs);
    local.offset[dim] = runs.empty() ? size : runs.front().start;
  }
  return local;
}

IndexRuns local_index_runs(DimSpan global_shape, std::int64_t tensor_dim, DimSpan mesh_shape,
                           DimSpan coordinate, PlacementSpan placements, const ShardOrder& order) {
  check_sharding(placements, global_shape, mesh_shape);
  check_coordinate(coordinate, mesh_shape);
  if (tensor_dim < 0 || tensor_dim >= static_cast<std::int64_t>(global_shape.size()))
    raise(ErrorKind::index_error, local_shape_source, "expected a dim of the shape {}, got {}",
          to_string(global_shape), tensor_dim);
  return unchecked_runs(global_shape[tensor_dim], tensor_dim, mesh_shape, coordinate, placements,
                        order);
}

bool same_pieces(DimSpan global_shape, DimSpan mesh_shape, const Sharding& left,
                 const Sharding& right) {
  check_sharding(left.placements, global_shape, mesh_shape);
  check_sharding(right.placements, global_shape, mesh_shape);
  const bool by_count = numel(global_shape) == 0;
  for (std::size_t dim = 0; dim < global_shape.size(); ++dim)
    if (!same_in_dim(global_shape[dim], static_cast<std::int64_t>(dim), mesh_shape, left, right,
                     by_count))
      return false;
  return true;
}

void check_sharding(PlacementSpan placements, DimSpan global_shape, DimSpan mesh_shape) {
  if (placements.size() != mesh_shape.size())
    raise(ErrorKind::value_error, local_shape_source,
          "expected one placement a mesh dim of {}, got {}: {}", to_string(mesh_shape),
          placements.size(), to_string(placements));
  const auto dims = static_cast<std::int64_t>(global_shape.size());
  for (const Placement& placement : placements) {
    if (!placement.splits()) continue;
    if (placement.dim() >= 0 && placement.dim() < dims) continue;
    normalized({&placement, 1}, dims);  // raises, except for a dim counted from the end
    raise(ErrorKind::index_error, local_shape_source,
          "expected a dim counted from the front, got {}", to_string(placement));
  }
}

}  // namespace simmesh
