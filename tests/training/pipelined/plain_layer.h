#pragma once

#include <string>

#include "core/nn/model_node.h"

namespace simmesh::testing {

// plain_layer returns a square layer without a bias.
inline nn::ModelNode plain_layer(const std::string& name, std::int64_t width) {
  return {name, "linear", {{"in", width}, {"out", width}, {"bias", false}}, {}};
}

}  // namespace simmesh::testing
