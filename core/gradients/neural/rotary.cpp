#include "core/ops/neural/rotary.h"

#include "core/gradients/families.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

Gradients rotary_gradient(const GradientCall& call) {
  return {rotary_embedding_backward(call.gradient(), call.attributes())};
}

}  // namespace

gsl::span<const OpGradient> rotary_gradients() {
  static const OpGradient gradients[] = {{"rotary_embedding", {rotary_gradient}}};
  return gradients;
}

}  // namespace simmesh
