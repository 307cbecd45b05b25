#pragma once

#include "core/nn/module.h"

namespace simmesh::nn {

// ActivationKind names an elementwise function. identity multiplies by one.
enum class ActivationKind : std::uint8_t { relu, tanh, silu, gelu, gelu_tanh, sigmoid, identity };
using simmesh::to_string;
std::string_view to_string(ActivationKind kind);
// activation_from_string is the inverse; nothing for an unknown name.
std::optional<ActivationKind> activation_from_string(std::string_view name);

// Activation applies an elementwise function.
class Activation final : public Module {
 public:
  explicit Activation(ActivationKind kind) : kind_(kind) {}
  Tensors forward(const Tensors& inputs) override;

 private:
  ActivationKind kind_;
};

}  // namespace simmesh::nn
