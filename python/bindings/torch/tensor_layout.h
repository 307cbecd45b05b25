#pragma once

#include <cstdint>
#include <gsl/span>
#include <nanobind/nanobind.h>
#include <optional>

#include "core/tensor/dtype.h"

namespace simmesh::python {

// TensorLayout is where the floating or complex elements of a CPU tensor of torch lie. It is valid
// until control goes back to Python.
struct TensorLayout {
  std::byte* data = nullptr;
  DType dtype = DType::float32;  // of a complex element, that of its two parts
  bool is_complex = false;
  gsl::span<const std::int64_t> shape;
  gsl::span<const std::int64_t> strides;  // in elements
};

// layout_of asks torch's C functions of DLPack, which take a hundredth of the time of Python's
// attributes. nullopt for other objects, subclasses, devices and dtypes, and for tensors that are
// no strided arrays.
std::optional<TensorLayout> layout_of(nanobind::handle tensor);

// is_plain_tensor is true for a torch.Tensor and a torch.nn.Parameter themselves, of any device.
bool is_plain_tensor(nanobind::handle object);

// is_value is true for None, numbers and lists of whole numbers.
bool is_value(nanobind::handle object);

// is_parameter is true for a torch.nn.Parameter itself.
bool is_parameter(nanobind::handle tensor);

}  // namespace simmesh::python
