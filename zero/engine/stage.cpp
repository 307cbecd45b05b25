#include "zero/engine/stage.h"

namespace simmesh::zero {

std::int64_t state_bytes(const optim::Optimizer& optimizer) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < optimizer.parameters().size(); ++i)
    for (const auto& [name, tensor] : optimizer.state(i)) bytes += std::int64_t(tensor.bytes());
  return bytes;
}

}  // namespace simmesh::zero
