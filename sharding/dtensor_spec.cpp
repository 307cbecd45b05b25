#include "sharding/dtensor_spec.h"

#include <fmt/format.h>

#include "sharding/local_shape.h"

namespace simmesh {

Shape DTensorSpec::local_shape() const {
  if (!groups->is_member()) return Shape{0};
  return compute_local_shape_and_global_offset(shape, mesh().shape(), groups->coordinate(),
                                               sharding.placements, sharding.order)
      .shape;
}

std::string to_string(const DTensorSpec& spec) {
  return fmt::format("{}{}({}) on {}", to_string(spec.dtype), to_string(DimSpan(spec.shape)),
                     to_string(spec.sharding), to_string(spec.mesh()));
}

}  // namespace simmesh
