#include "pipeline/stage/tensor_meta.h"

#include "core/check/error.h"

namespace simmesh::pipeline {

namespace {

constexpr const char* meta_where = "pipeline/metadata";

const char* type_name(const StepValue& value) {
  if (std::holds_alternative<std::int64_t>(value)) return "int";
  if (std::holds_alternative<double>(value)) return "float";
  if (std::holds_alternative<bool>(value)) return "bool";
  return "str";
}

void check_meta(std::string_view what, std::size_t index, const TensorMeta& expected,
                const TensorMeta& actual) {
  if (expected.shape != actual.shape)
    raise(ErrorKind::runtime_error, meta_where, "{}[{}]: shape mismatch: expected {}, got {}", what,
          index, to_string(DimSpan(expected.shape)), to_string(DimSpan(actual.shape)));
  if (expected.dtype != actual.dtype)
    raise(ErrorKind::runtime_error, meta_where, "{}[{}]: dtype mismatch: expected {}, got {}", what,
          index, to_string(expected.dtype), to_string(actual.dtype));
}

void check_count(std::string_view what, std::size_t expected, std::size_t actual) {
  if (expected != actual)
    raise(ErrorKind::runtime_error, meta_where, "{}: expected {} tensors, got {}", what, expected,
          actual);
}

}  // namespace

TensorMeta meta_of(const Tensor& tensor) {
  return {tensor.shape(), tensor.dtype(), tensor.requires_grad()};
}

TensorMetas metas_of(const nn::Tensors& tensors) {
  TensorMetas metas;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].is_defined())
      raise(ErrorKind::runtime_error, meta_where,
            "stage arg[{}] is None: stage args must be a tensor, or a list of tensors; pass "
            "optional values by keyword",
            i);
    if (tensors[i].distribution())
      raise(ErrorKind::runtime_error, meta_where,
            "stage arg[{}] is a distributed tensor: stages exchange local ones", i);
    metas.push_back(meta_of(tensors[i]));
  }
  return metas;
}

nn::Tensors tensors_of(const std::vector<StepValue>& values) {
  nn::Tensors tensors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto* tensor = std::get_if<Tensor>(&values[i]);
    if (tensor == nullptr)
      raise(ErrorKind::runtime_error, meta_where,
            "stage arg[{}] has type {}: all stage args must be tensors; pass other values by "
            "keyword",
            i, type_name(values[i]));
    tensors.push_back(*tensor);
  }
  metas_of(tensors);
  return tensors;
}

GradMetas grad_metas_of(const TensorMetas& tensors) {
  GradMetas grads;
  for (const TensorMeta& meta : tensors)
    grads.push_back(meta.requires_grad ? std::optional(TensorMeta{meta.shape, meta.dtype, false})
                                       : std::nullopt);
  return grads;
}

void check_metas(std::string_view what, const TensorMetas& expected, const TensorMetas& actual) {
  check_count(what, expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) check_meta(what, i, expected[i], actual[i]);
}

void check_grad_metas(std::string_view what, const GradMetas& expected, const GradMetas& actual) {
  check_count(what, expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] && actual[i]) check_meta(what, i, *expected[i], *actual[i]);
}

}  // namespace simmesh::pipeline
