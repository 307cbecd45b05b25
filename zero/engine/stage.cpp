#include "zero/engine/stage.h"

namespace simmesh::zero {

std::vector<nn::NamedTensor> StageSetup::parameters() const {
  std::vector<nn::NamedTensor> trained;
  for (const nn::NamedTensor& one : module.named_parameters())
    if (parallel.is_trained(one.first)) trained.push_back(one);
  return trained;
}

std::int64_t state_bytes(const optim::Optimizer& optimizer) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < optimizer.parameters().size(); ++i)
    for (const auto& [name, tensor] : optimizer.state(i)) bytes += std::int64_t(tensor.bytes());
  return bytes;
}

}  // namespace simmesh::zero
