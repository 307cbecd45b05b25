#include "core/nn/mlp.h"

#include "core/nn/containers.h"
#include "core/nn/linear.h"

namespace simmesh::nn {

ModulePtr make_mlp(const MlpOptions& options) {
  auto linear = [&](std::int64_t in, std::int64_t out) {
    return std::make_shared<Linear>(Linear::Options{in, out, options.bias, options.parameters});
  };
  return std::make_shared<Sequential>(
      std::vector<NamedModule>{{"fc1", linear(options.width, options.hidden)},
                               {"act", std::make_shared<Activation>(options.activation)},
                               {"fc2", linear(options.hidden, options.out)}});
}

}  // namespace simmesh::nn
