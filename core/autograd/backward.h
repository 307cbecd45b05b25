#pragma once

#include <cstdint>
#include <functional>
#include <gsl/span>
#include <initializer_list>
#include <optional>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh {

// BackwardOptions are the options of a backward pass.
struct BackwardOptions {
  // One gradient a tensor. Where absent it is ones, which is allowed only for a tensor of one
  // element.
  std::vector<Tensor> gradients = {};
  // retain_graph keeps what the tape saved for another pass; its default is create_graph.
  std::optional<bool> retain_graph = std::nullopt;
  // create_graph records the pass itself, for gradients of gradients.
  bool create_graph = false;
  // If not empty, only the gradients of these leaves are accumulated.
  std::vector<Tensor> inputs = {};
};

// backward adds the gradients of the sum of all tensors to the leaves they depend on. Nodes that
// are ready run latest-made first, leaves before all others, as in PyTorch. Raises a RuntimeError
// for tensors that require no gradient, and for a graph that was freed.
void backward(gsl::span<const Tensor> tensors, const BackwardOptions& options = {});
inline void backward(const Tensor& tensor, const BackwardOptions& options = {}) {
  backward(gsl::span<const Tensor>(&tensor, 1), options);
}

// GradOptions are the options of `grad`; see BackwardOptions.
struct GradOptions {
  std::vector<Tensor> gradients = {};
  std::optional<bool> retain_graph = std::nullopt;
  bool create_graph = false;
  // allow_unused gives an undefined gradient to an input that the outputs don't depend on.
  bool allow_unused = false;
};

// grad returns the gradients of the sum of the outputs with respect to the inputs, and accumulates
// nothing.
std::vector<Tensor> grad(gsl::span<const Tensor> outputs, gsl::span<const Tensor> inputs,
                         const GradOptions& options = {});
inline std::vector<Tensor> grad(std::initializer_list<Tensor> outputs,
                                std::initializer_list<Tensor> inputs,
                                const GradOptions& options = {}) {
  return grad(gsl::span<const Tensor>(outputs.begin(), outputs.size()),
              gsl::span<const Tensor>(inputs.begin(), inputs.size()), options);
}

// queue_callback runs the callback at the end of the backward pass that runs on this rank. Raises a
// RuntimeError outside of one.
void queue_callback(std::function<void()> callback);

// current_backward returns the number of the backward pass that runs on this rank, the innermost
// where one runs within another; empty outside. A rank never uses a number twice.
std::optional<std::uint64_t> current_backward();

}  // namespace simmesh
