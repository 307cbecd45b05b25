#pragma once

#include "core/ops/random/random.h"
#include "core/ops/shapes/factories.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

// Factories of distributed tensors, without communication: every rank makes its own piece of the
// whole tensor.
//
//   DTensor weight = randn(Dims{64, 32}, generator.next(), {}, mesh, {Shard(0)});
//
// Placements may be partial where equal operands reduce to the same value: averages of floating
// tensors, extremes of any, sums of zeros. Raises a ValueError for other partial ones.

// empty, zeros, ones and full return tensors of equal elements; those of empty are zeros too.
DTensor empty(DimSpan shape, DType dtype, const DeviceMesh& mesh, const Placements& placements);
DTensor zeros(DimSpan shape, DType dtype, const DeviceMesh& mesh, const Placements& placements);
DTensor ones(DimSpan shape, DType dtype, const DeviceMesh& mesh, const Placements& placements);
DTensor full(DimSpan shape, DType dtype, double value, const DeviceMesh& mesh,
             const Placements& placements);

// rand and randn draw the numbers that one device draws: all ranks must hold equal generators.
DTensor rand(DimSpan shape, const Generator& generator, const RandomOptions& options,
             const DeviceMesh& mesh, const Placements& placements);
DTensor randn(DimSpan shape, const Generator& generator, const RandomOptions& options,
              const DeviceMesh& mesh, const Placements& placements);

// PointsOf selects the points that a rank computes. In PyTorch each rank takes its piece as a range
// of its own, from its first point to its last, so that bits depend on the layout; plain shards
// only.
enum class PointsOf : std::uint8_t { whole, own_range };

// linspace and logspace return a tensor of one dim.
DTensor linspace(const Linspace& values, DType dtype, const DeviceMesh& mesh,
                 const Placements& placements, PointsOf points = PointsOf::whole);
DTensor logspace(const Logspace& values, DType dtype, const DeviceMesh& mesh,
                 const Placements& placements, PointsOf points = PointsOf::whole);

}  // namespace simmesh
