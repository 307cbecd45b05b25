#include "sharding/api/dtensor_factories.h"

#include <algorithm>
#include <memory>

#include "core/check/error.h"
#include "sharding/dtensor/local_boxes.h"
#include "sharding/placement/local_shape.h"

namespace simmesh {

namespace {

constexpr std::string_view source = "sharding/factories";

bool reduces_to_itself(const Placement& placement, DType dtype, bool is_zero) {
  if (!placement.is_partial()) return true;
  if (!placement.is_plain_partial()) return false;
  switch (placement.reduce_op()) {
    case ReduceOp::avg: return is_floating_point(dtype);
    case ReduceOp::min:
    case ReduceOp::max: return true;
    case ReduceOp::sum: return is_zero;
    default: return false;
  }
}

DTensorSpec spec_of(DimSpan shape, DType dtype, const DeviceMesh& mesh,
                    const Placements& placements, bool is_zero = false) {
  Placements list = normalized(placements, std::int64_t(shape.size()));
  check_sharding(list, shape, mesh.shape());
  for (const Placement& placement : list)
    if (!reduces_to_itself(placement, dtype, is_zero))
      raise(ErrorKind::value_error, source,
            "expected placements to which equal values of all ranks reduce by themselves, got {}",
            to_string(PlacementSpan(list)));
  return {.groups = std::make_shared<MeshGroups>(mesh),
          .sharding = {list, {}},
          .shape = Shape(shape.begin(), shape.end()),
          .dtype = dtype};
}

Tensor part_of(Tensor piece, const LocalBox& box) {
  for (std::size_t dim = 0; dim < box.shape.size(); ++dim)
    piece = piece.narrow({std::int64_t(dim), box.local_offset[dim], box.shape[dim]});
  return piece;
}

// Makes the piece of a rank, box by box.
template <class Make>
DTensor made_of_boxes(const DTensorSpec& spec, Make make) {
  Tensor piece = empty(spec.local_shape(), spec.dtype);
  if (!spec.groups->is_member()) return DTensor(spec, piece);
  for (const LocalBox& box : local_boxes(spec)) {
    Tensor target = part_of(piece, box);
    copy_(target, make(box));
  }
  return DTensor(spec, piece);
}

using Draw = Tensor (*)(DimSpan shape, const Generator& generator, const RandomOptions& options);

DTensor drawn(Draw draw, DimSpan shape, const Generator& generator, const RandomOptions& options,
              const DeviceMesh& mesh, const Placements& placements) {
  ShardOfTensor whole = options.shard;
  if (whole.global_shape.empty())
    whole = {Shape(shape.begin(), shape.end()), Dims(shape.size(), 0)};
  return made_of_boxes(spec_of(shape, options.dtype, mesh, placements), [&](const LocalBox& box) {
    ShardOfTensor shard = whole;
    for (std::size_t dim = 0; dim < box.shape.size(); ++dim)
      shard.offset[dim] += box.global_offset[dim];
    return draw(box.shape, generator, {.dtype = options.dtype, .shard = shard});
  });
}

// Returns the range of a rank's piece, computed on its own.
template <class Range>
Range own_range(const Range& values, const DTensorSpec& spec) {
  for (const Placement& placement : spec.placements())
    if (placement.splits() && !placement.is_shard())
      raise(ErrorKind::assertion_error, source,
            "expected plain shards for ranges of their own, got {}",
            to_string(PlacementSpan(spec.placements())));
  double step = values.steps > 1 ? (values.end - values.start) / double(values.steps - 1) : 0;
  std::vector<LocalBox> boxes = local_boxes(spec);
  Range own = values;
  own.steps = boxes.empty() ? 0 : boxes[0].shape[0];
  if (!boxes.empty()) own.start = values.start + double(boxes[0].global_offset[0]) * step;
  own.end = own.start + step * double(own.steps - 1);
  return own;
}

template <class Range>
DTensor points(Tensor (*make)(const Range&, DType), const Range& values, DType dtype,
               const DeviceMesh& mesh, const Placements& placements, PointsOf points) {
  if (values.steps < 0) make(values, dtype);  // which raises
  DTensorSpec spec = spec_of(Shape{values.steps}, dtype, mesh, placements);
  if (points == PointsOf::own_range && spec.groups->is_member())
    return DTensor(spec, make(own_range(values, spec), dtype));
  Tensor whole = make(values, dtype);
  return made_of_boxes(spec, [&](const LocalBox& box) {
    return whole.narrow({0, box.global_offset[0], box.shape[0]});
  });
}

}  // namespace

DTensor empty(DimSpan shape, DType dtype, const DeviceMesh& mesh, const Placements& placements) {
  return zeros(shape, dtype, mesh, placements);
}

DTensor zeros(DimSpan shape, DType dtype, const DeviceMesh& mesh, const Placements& placements) {
  return full(shape, dtype, 0, mesh, placements);
}

DTensor ones(DimSpan shape, DType dtype, const DeviceMesh& mesh, const Placements& placements) {
  return full(shape, dtype, 1, mesh, placements);
}

DTensor full(DimSpan shape, DType dtype, double value, const DeviceMesh& mesh,
             const Placements& placements) {
  DTensorSpec spec = spec_of(shape, dtype, mesh, placements, value == 0);
  Tensor piece = full(spec.local_shape(), dtype, value);
  return DTensor(std::move(spec), std::move(piece));
}

DTensor rand(DimSpan shape, const Generator& generator, const RandomOptions& options,
             const DeviceMesh& mesh, const Placements& placements) {
  return drawn(rand, shape, generator, options, mesh, placements);
}

DTensor randn(DimSpan shape, const Generator& generator, const RandomOptions& options,
              const DeviceMesh& mesh, const Placements& placements) {
  return drawn(randn, shape, generator, options, mesh, placements);
}

DTensor linspace(const Linspace& values, DType dtype, const DeviceMesh& mesh,
                 const Placements& placements, PointsOf of) {
  return points<Linspace>(linspace, values, dtype, mesh, placements, of);
}

DTensor logspace(const Logspace& values, DType dtype, const DeviceMesh& mesh,
                 const Placements& placements, PointsOf of) {
  return points<Logspace>(logspace, values, dtype, mesh, placements, of);
}

}  // namespace simmesh
