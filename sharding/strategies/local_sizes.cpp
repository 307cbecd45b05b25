#include "sharding/strategies/local_sizes.h"

namespace simmesh {

LocalAttributes local_sizes(const Attribute<Dims>& which) {
  return [which](const LocalCall& call) {
    Attributes attributes = call.attributes;
    Shape shape = call.output_specs[0]->local_shape();
    attributes.set(which = Dims(shape.begin(), shape.end()));
    return attributes;
  };
}

}  // namespace simmesh
