#include "core/ops/shapes/aliases.h"

#include "core/gradients/gradient_table.h"
#include "core/ops/gradient_call.h"

namespace simmesh {

namespace {

Gradients same_gradient(const GradientCall& call) { return {call.gradient()}; }

// Reinterpreting bytes as another dtype has no gradient.
Gradients no_gradient(const GradientCall&) { return {Tensor()}; }

}  // namespace

void aliases_gradients(GradientTable& table) {
  static const OpGradient gradients[] = {
      {"alias", {same_gradient}},        {"positive", {same_gradient}},
      {"view_dtype", {no_gradient}},     {"view_as_complex", {same_gradient}},
      {"view_as_real", {same_gradient}},
  };
  table.add(gradients);
}

}  // namespace simmesh
