#include "sharding/strategies/local_sizes.h"

namespace simmesh {

LocalAttributes local_sizes(std::string_view name) {
  return [name](const LocalCall& call) {
    Attributes attributes = call.attributes;
    Shape shape = call.output_specs[0]->local_shape();
    attributes.set(name, Dims(shape.begin(), shape.end()));
    return attributes;
  };
}

}  // namespace simmesh
