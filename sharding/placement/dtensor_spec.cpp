#include "sharding/placement/dtensor_spec.h"

#include <fmt/format.h>

#include "core/check/fold_hash.h"
#include "sharding/placement/local_shape.h"

namespace simmesh {

Shape DTensorSpec::local_shape() const {
  if (!groups->is_member()) return Shape{0};
  return compute_local_shape_and_global_offset(shape, mesh().shape(), groups->coordinate(),
                                               sharding.placements, sharding.order)
      .shape;
}

std::size_t hash_of(const DTensorSpec& spec) {
  FoldHash hash(std::uint64_t(spec.dtype));
  for (std::int64_t size : spec.shape) hash.fold(std::uint64_t(size));
  for (const Placement& placement : spec.placements())
    hash.fold(std::uint64_t(placement.kind()) * 64 + std::uint64_t(placement.dim()));
  return hash.value();
}

std::string to_string(const DTensorSpec& spec) {
  return fmt::format("{}{}({}) on {}", to_string(spec.dtype), to_string(DimSpan(spec.shape)),
                     to_string(spec.sharding), to_string(spec.mesh()));
}

}  // namespace simmesh
