#include "core/autograd/gradcheck.h"

#include <cmath>
#include <fmt/format.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/formula.h"

namespace simmesh {

namespace {

using CheckedFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

bool is_checked(const Tensor& tensor) {
  return tensor.requires_grad() && tensor.dtype() == DType::float64;
}

std::vector<Tensor> fresh(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) {
    result.push_back(input.is_defined() ? input.detach().clone() : input);
    if (input.requires_grad()) set_requires_grad(result.back());
  }
  return result;
}

// Returns weights for the outputs' elements, so that one number depends on all of them.
std::vector<Tensor> weights_of(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> weights;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    weights.push_back(
        formula(outputs[i].shape(), {.rule = Rule::unit, .seed = 77 + i, .dtype = DType::float64}));
  return weights;
}

double weighted(const std::vector<Tensor>& outputs, const std::vector<Tensor>& weights) {
  double total = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dtype() != DType::float64) continue;
    Tensor rows = outputs[i].detach().contiguous();
    auto values = rows.values<double>();
    auto factors = weights[i].values<double>();
    for (std::size_t k = 0; k < values.size(); ++k) total += values[k] * factors[k];
  }
  return total;
}

// analytic returns the gradients of the weighted outputs, recorded where they are differentiated
// again.
std::vector<Tensor> analytic(const CheckedFunction& function, const std::vector<Tensor>& inputs,
                             bool create_graph) {
  std::vector<Tensor> outputs = function(inputs), weights = weights_of(outputs), roots, wanted;
  GradOptions options{.create_graph = create_graph, .allow_unused = true};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    roots.push_back(outputs[i]);
    options.gradients.push_back(weights[i]);
  }
  for (const Tensor& input : inputs)
    if (is_checked(input)) wanted.push_back(input);
  if (roots.empty())
    raise(ErrorKind::value_error, "autograd/gradcheck",
          "expected an output that requires a gradient, got {} that don't", outputs.size());
  std::vector<Tensor> gradients = grad(roots, wanted, options);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].is_defined()) gradients[i] = zeros(wanted[i].shape(), DType::float64);
  return gradients;
}

std::string compare(const CheckedFunction& function, const std::vector<Tensor>& inputs,
                    const GradcheckOptions& options, std::string_view what) {
  std::vector<Tensor> leaves = fresh(inputs);
  std::vector<Tensor> gradients = analytic(function, leaves, false);
  std::vector<Tensor> moved = fresh(inputs);
  std::vector<Tensor> weights = weights_of(function(moved));
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_checked(inputs[i])) continue;
    Tensor gradient = gradients[next++].detach().contiguous();
    for (std::int64_t k = 0; k < inputs[i].numel(); ++k) {
      auto at = [&](double shift) {
        std::vector<Tensor> shifted = fresh(inputs);
        Tensor data = shifted[i].detach();
        data.mutable_values<double>()[std::size_t(k)] += shift;
        return weighted(function(shifted), weights);
      };
      double numeric = (at(options.step) - at(-options.step)) / (2 * options.step);
      double got = gradient.values<double>()[std::size_t(k)];
      if (!(std::abs(numeric - got) <= options.absolute + options.relative * std::abs(numeric)))
        return fmt::format("{} of input {}, element {}: expected {} by differences, got {}", what,
                           i, k, numeric, got);
    }
  }
  return {};
}

}  // namespace

std::string gradcheck(const CheckedFunction& function, const std::vector<Tensor>& inputs,
                      const GradcheckOptions& options) {
  GradMode mode(true);
  std::string first = compare(function, inputs, options, "the gradient");
  if (!first.empty() || !options.second_order) return first;
  CheckedFunction gradients = [&function](const std::vector<Tensor>& at) {
    return analytic(function, at, true);
  };
  std::vector<Tensor> leaves = fresh(inputs);
  for (const Tensor& gradient : gradients(leaves))
    if (gradient.requires_grad()) return compare(gradients, inputs, options, "the second gradient");
  return {};
}

}  // namespace simmesh
