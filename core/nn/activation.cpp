#include "core/nn/activation.h"

#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/elementary.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh::nn {

namespace {

constexpr std::pair<ActivationKind, std::string_view> names[] = {
    {ActivationKind::relu, "relu"},           {ActivationKind::tanh, "tanh"},
    {ActivationKind::silu, "silu"},           {ActivationKind::gelu, "gelu"},
    {ActivationKind::gelu_tanh, "gelu_tanh"}, {ActivationKind::sigmoid, "sigmoid"},
    {ActivationKind::identity, "identity"}};

Tensor apply(ActivationKind kind, const Tensor& x) {
  switch (kind) {
    case ActivationKind::relu: return relu(x);
    case ActivationKind::tanh: return tanh(x);
    case ActivationKind::silu: return silu(x);
    case ActivationKind::gelu: return gelu(x);
    case ActivationKind::gelu_tanh: return gelu(x, Gelu::tanh);
    case ActivationKind::sigmoid: return sigmoid(x);
    case ActivationKind::identity: return mul(x, 1);
  }
  SIMMESH_CHECK(false, "unknown activation {}", int(kind));
}

}  // namespace

std::string_view to_string(ActivationKind kind) {
  for (const auto& [known, name] : names)
    if (known == kind) return name;
  return "";
}

std::optional<ActivationKind> activation_from_string(std::string_view name) {
  for (const auto& [kind, known] : names)
    if (known == name) return kind;
  return std::nullopt;
}

Tensors Activation::forward(const Tensors& inputs) { return {apply(kind_, inputs[0])}; }

}  // namespace simmesh::nn
