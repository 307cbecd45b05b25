#include "core/gradients/aligned_operands.h"

#include <algorithm>

#include "core/ops/compute_mode.h"
#include "core/ops/neural/gradient_operands.h"

namespace simmesh {

std::vector<Tensor> aligned_operands(std::vector<Tensor> operands, const char* of) {
  bool is_distributed = std::any_of(operands.begin(), operands.end(), [](const Tensor& operand) {
    return operand.distribution() != nullptr;
  });
  if (!is_distributed || grad_enabled()) return operands;
  return gradient_operands(operands, {attribute::of = of});
}

}  // namespace simmesh
