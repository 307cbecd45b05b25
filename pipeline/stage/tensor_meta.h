#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/nn/module.h"
#include "pipeline/chunks/split.h"

namespace simmesh::pipeline {

// TensorMeta is all that a stage knows of a tensor that another stage sends, before it comes.
struct TensorMeta {
  Shape shape;
  DType dtype = DType::float32;
  bool requires_grad = false;

  friend bool operator==(const TensorMeta&, const TensorMeta&) = default;
};
using TensorMetas = std::vector<TensorMeta>;

// GradMetas are those of gradients, empty for a tensor that gets none.
using GradMetas = std::vector<std::optional<TensorMeta>>;

// StageMetas are the tensors of a stage: what it gets and gives, and the gradients of these.
struct StageMetas {
  std::optional<TensorMetas> inputs;
  std::optional<TensorMetas> outputs;
  std::optional<GradMetas> input_grads;
  std::optional<GradMetas> output_grads;
};

// meta_of and metas_of describe tensors. tensors_of takes the tensors out of values. It and
// metas_of raise a RuntimeError for a value that isn't a tensor, and for an undefined one.
TensorMeta meta_of(const Tensor& tensor);
TensorMetas metas_of(const nn::Tensors& tensors);
nn::Tensors tensors_of(const std::vector<StepValue>& values);

// grad_metas_of returns the gradients of tensors, of their shape and dtype where they require one.
GradMetas grad_metas_of(const TensorMetas& tensors);

// check_metas raises a RuntimeError where tensors are others than expected, in number, shape or
// dtype. It begins with `what`.
void check_metas(std::string_view what, const TensorMetas& expected, const TensorMetas& actual);
// check_grad_metas does the same for gradients.
void check_grad_metas(std::string_view what, const GradMetas& expected, const GradMetas& actual);

}  // namespace simmesh::pipeline
